// A key of the threads library finds the text, since a thread-local array would be a thread-local
// block of libgsofa.so. The dynamic linker allocates such a block where a thread first uses it, and
// ends the process if it cannot.

#include "harness/library/c/last_error.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace gsofa::library {

namespace {

using text = std::array<char, 512>;

constinit std::array<text, 64> texts{};
constinit std::array<std::atomic<bool>, 64> taken{};
// What a thread has that gets no text of its own.
constinit text no_memory{"an error, for the text of which there is no memory"};
// Threads whose value of the key the system has no memory for either: the last few of them.
constinit std::array<std::atomic<pid_t>, 64> without_value{};
constinit std::atomic<unsigned> next_without_value{0};

text* take_text() noexcept {
  for (std::size_t k = 0; k < texts.size(); ++k) {
    if (!taken[k].exchange(true)) return &texts[k];
  }
  return static_cast<text*>(std::malloc(sizeof(text)));  // NOLINT
}

extern "C" void gsofa_give_back_text(void* value) {
  for (std::size_t k = 0; k < texts.size(); ++k) {
    if (value != &texts[k]) continue;
    taken[k] = false;
    return;
  }
  if (value != &no_memory) std::free(value);  // NOLINT
}

// The key, from before the first call of the library to after the last.
struct text_key {
  text_key() { made = pthread_key_create(&key, gsofa_give_back_text) == 0; }
  text_key(const text_key&) = delete;
  text_key& operator=(const text_key&) = delete;
  ~text_key() {
    if (made) pthread_key_delete(key);
    made = false;
  }
  pthread_key_t key{};
  bool made = false;
};
text_key of_threads;

text* text_of_thread() noexcept {
  return of_threads.made ? static_cast<text*>(pthread_getspecific(of_threads.key)) : nullptr;
}

bool set_text_of_thread(const text* value) noexcept {
  return of_threads.made && pthread_setspecific(of_threads.key, value) == 0;
}

}  // namespace

void set_last_error(const char* message) noexcept {
  text* mine = text_of_thread();
  if (mine == nullptr || mine == &no_memory) {
    text* const found = take_text();
    if (found != nullptr && set_text_of_thread(found)) {
      mine = found;
    } else {
      if (found != nullptr) gsofa_give_back_text(found);
      if (mine == nullptr && !set_text_of_thread(&no_memory)) {
        without_value[next_without_value++ % without_value.size()] = gettid();
      }
      return;
    }
  }
  std::snprintf(mine->data(), mine->size(), "%s", message);
}

const char* last_error() noexcept {
  if (const text* const mine = text_of_thread()) return mine->data();
  const pid_t me = gettid();
  for (const auto& thread : without_value) {
    if (thread == me) return no_memory.data();
  }
  return "";
}

}  // namespace gsofa::library
