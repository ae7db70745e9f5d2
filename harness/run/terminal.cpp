#include "harness/run/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "common/mpi_launcher.hpp"

namespace gsofa {

namespace {

std::size_t columns_of_environment() {
  const char* const text = std::getenv("COLUMNS");
  if (text == nullptr) return 0;
  const long value = std::strtol(text, nullptr, 10);
  return value > 0 ? static_cast<std::size_t>(value) : 0;
}

// Launchers give a rank a terminal of its own, which is none for who reads the output: Open MPI 4
// does so for stdout.
bool is_terminal(int descriptor) { return isatty(descriptor) != 0 && !has_launcher(); }

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

}  // namespace

std::size_t output_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
      size.ws_col > 0) {
    return size.ws_col;
  }
  return columns_of_environment();
}

bool output_has_colour() {
  const char* const refused = std::getenv("NO_COLOR");
  if (refused != nullptr && *refused != '\0') return false;
  const char* const kind = std::getenv("TERM");
  return is_terminal(STDOUT_FILENO) && kind != nullptr && std::string_view(kind) != "dumb";
}

bool errors_on_terminal() { return is_terminal(STDERR_FILENO); }

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string shortened(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  if (width == 0) return {};
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    if (begins_character(text[end]) && seen++ == width - 1) break;
  }
  std::string cut = text.substr(0, end);
  cut.erase(cut.find_last_not_of(' ') + 1);
  return cut + "…";
}

std::string coloured_status(const std::string& text) {
  using namespace std::string_view_literals;
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> colours{
      {{"pass"sv, "32"sv},
       {"fail"sv, "1;31"sv},
       {"FAIL"sv, "1;31"sv},
       {"error"sv, "1;31"sv},
       {"unverified"sv, "33"sv},
       {"timeout"sv, "33"sv},
       {"oom"sv, "33"sv},
       {"skipped"sv, "2"sv}}};
  const std::string_view word = std::string_view(text).substr(0, text.find_first_of(" :,"));
  const auto hit = std::ranges::find(colours, word, &decltype(colours)::value_type::first);
  if (hit == colours.end()) return text;
  return "\x1b[" + std::string(hit->second) + "m" + std::string(word) + "\x1b[0m" +
         text.substr(word.size());
}

}  // namespace gsofa
