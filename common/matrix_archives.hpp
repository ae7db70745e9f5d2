#pragma once

/// Archives and .npz files, for tests.

#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace gsofa::testing {

/// (name, content) of the files of an archive.
using archive_files = std::vector<std::pair<std::string, std::string>>;

/// A POSIX .tar archive.
inline std::string tar(const archive_files& files) {
  std::string out;
  for (const auto& [name, content] : files) {
    std::string header(512, '\0');
    const auto at = [&](std::size_t begin, const std::string& text) {
      header.replace(begin, text.size(), text);
    };
    char size[12];
    std::snprintf(size, sizeof size, "%011o", static_cast<unsigned>(content.size()));
    at(0, name);
    at(100, "0000644");
    at(124, size);
    at(136, "00000000000");
    at(148, "        0");
    at(257, std::string("ustar\0"
                        "00",
                        8));
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    char digits[8];
    std::snprintf(digits, sizeof digits, "%06o", sum);
    at(148, digits);
    header[154] = '\0';
    out += header + content + std::string((512 - content.size() % 512) % 512, '\0');
  }
  return out + std::string(1024, '\0');
}

/// The last `bytes` bytes of an integer, the lowest first.
inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int k = 0; k < bytes; ++k) out += static_cast<char>(k < 8 ? value >> (8 * k) : 0);
  return out;
}

/// A .zip archive, deflated or stored.
inline std::string zip(const archive_files& files, bool deflated) {
  std::string out, directory;
  for (const auto& [name, content] : files) {
    std::string packed = content;
    if (deflated) {
      z_stream stream{};
      deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
      std::string input = content;
      packed.resize(deflateBound(&stream, static_cast<uLong>(content.size())));
      stream.next_in = reinterpret_cast<Bytef*>(input.data());
      stream.avail_in = static_cast<uInt>(input.size());
      stream.next_out = reinterpret_cast<Bytef*>(packed.data());
      stream.avail_out = static_cast<uInt>(packed.size());
      deflate(&stream, Z_FINISH);
      packed.resize(stream.total_out);
      deflateEnd(&stream);
    }
    const auto sum =
        crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
    const std::string common =
        little_endian(20, 2) + little_endian(0, 2) + little_endian(deflated ? 8 : 0, 2) +
        little_endian(0, 4) + little_endian(sum, 4) + little_endian(packed.size(), 4) +
        little_endian(content.size(), 4) + little_endian(name.size(), 2) + little_endian(0, 2);
    directory += "PK\x01\x02" + little_endian(20, 2) + common + little_endian(0, 10) +
                 little_endian(out.size(), 4) + name;
    out += "PK\x03\x04" + common + name + packed;
  }
  return out + directory + "PK\x05\x06" + little_endian(0, 4) + little_endian(files.size(), 2) +
         little_endian(files.size(), 2) + little_endian(directory.size(), 4) +
         little_endian(out.size(), 4) + little_endian(0, 2);
}

/// The bytes of a .npy file.
inline std::string npy(const std::string& type, const std::string& shape, const std::string& data) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header += std::string((128 - (10 + header.size() + 1) % 64) % 64, ' ') + "\n";
  return std::string("\x93NUMPY\x01\0", 8) + little_endian(header.size(), 2) + header + data;
}

/// An array of a .npz file.
struct npy_member {
  std::string name, bytes;
};

/// One dimension of integers of a type such as "<i4", ">i8" or "|u1".
inline npy_member integers(const std::string& name, const std::string& type,
                           const std::vector<std::int64_t>& values) {
  std::string data;
  const int bytes = type[2] - '0';
  for (const std::int64_t v : values) {
    const std::string one = little_endian(static_cast<std::uint64_t>(v), bytes);
    data += type[0] == '>' ? std::string(one.rbegin(), one.rend()) : one;
  }
  return {name, npy(type, "(" + std::to_string(values.size()) + ",)", data)};
}

/// Zeros.
inline npy_member doubles(const std::string& name, const std::vector<std::size_t>& shape) {
  std::string text = "(";
  std::size_t count = 1;
  for (const std::size_t n : shape) {
    text += std::to_string(n) + ",";
    count *= n;
  }
  return {name, npy("<f8", text + ")", std::string(8 * count, '\0'))};
}

/// A word.
inline npy_member text_array(const std::string& name, const std::string& text) {
  return {name, npy("|S" + std::to_string(text.size()), "()", text)};
}

/// A .npz file, as numpy.savez_compressed or numpy.savez write it.
inline std::string npz(const std::vector<npy_member>& members, bool deflated) {
  archive_files files;
  for (const npy_member& m : members) files.emplace_back(m.name + ".npy", m.bytes);
  return zip(files, deflated);
}

/// Small matrices in every kind of archive, and in every .npz format.
inline std::vector<std::string> sample_archives() {
  const std::string text = "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2\n";
  const npy_member shape = integers("shape", "<i8", {2, 2});
  const auto of_rows = [&](const char* format) {
    return std::vector{integers("indices", "<i4", {0, 1}), integers("indptr", "<i4", {0, 1, 2}),
                       text_array("format", format), shape, doubles("data", {2})};
  };
  return {tar({{"a/a.mtx", text}, {"a/a_b.mtx", "?"}}),
          zip({{"a.mtx", text}}, true),
          npz(of_rows("csr"), false),
          npz(of_rows("csc"), true),
          npz({integers("row", "<i8", {0, 1}), integers("col", "<i8", {1, 0}),
               text_array("format", "coo"), shape},
              false),
          npz({integers("indptr", "<i4", {0, 1}), integers("indices", "<i4", {0}),
               doubles("data", {1, 2, 2}), text_array("format", "bsr"), shape},
              false),
          npz({integers("offsets", "<i4", {-1, 0}), doubles("data", {2, 2}),
               text_array("format", "dia"), shape},
              false)};
}

}  // namespace gsofa::testing
