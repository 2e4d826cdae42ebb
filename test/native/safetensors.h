#pragma once
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

/// A .safetensors file of golden data, whose header is trusted: {"name":{"dtype":..,"shape":[..],"data_offsets":[begin,end]}, ..}.
class Safetensors {
 public:
  explicit Safetensors(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    if (bytes_.size() < sizeof(uint64_t)) return;
    uint64_t header_bytes;
    std::memcpy(&header_bytes, bytes_.data(), sizeof header_bytes);
    const std::string header(bytes_.data() + sizeof header_bytes, header_bytes);
    data_ = sizeof header_bytes + header_bytes;
    for (size_t at = header.find("\"dtype\""); at != std::string::npos;
         at = header.find("\"dtype\"", at + 1)) {
      const size_t end = header.rfind("\":{", at), begin = header.rfind('"', end - 1) + 1;
      Tensor& tensor = tensors_[header.substr(begin, end - begin)];
      tensor.shape = numbers(header, header.find("\"shape\":[", at));
      tensor.offsets = numbers(header, header.find("\"data_offsets\":[", at));
    }
  }

  /// Names without their last part, `.x` and so on, in order.
  std::vector<std::string> cases() const {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : tensors_) {
      const std::string stem = name.substr(0, name.rfind('.'));
      if (names.empty() || names.back() != stem) names.push_back(stem);
    }
    return names;
  }
  const std::vector<size_t>& shape(const std::string& name) const { return tensors_.at(name).shape; }

  template <typename T>
  std::vector<T> values(const std::string& name) const {
    const Tensor& tensor = tensors_.at(name);
    std::vector<T> out((tensor.offsets.at(1) - tensor.offsets.at(0)) / sizeof(T));
    std::memcpy(out.data(), bytes_.data() + data_ + tensor.offsets[0], out.size() * sizeof(T));
    return out;
  }

 private:
  struct Tensor {
    std::vector<size_t> shape, offsets;
  };

  /// Those of the brackets that open after `at`.
  static std::vector<size_t> numbers(const std::string& header, size_t at) {
    std::vector<size_t> out;
    for (size_t i = header.find('[', at) + 1; header.at(i - 1) != ']';) {
      size_t n_digits = 0;
      out.push_back(std::stoull(header.substr(i, 20), &n_digits));
      i += n_digits + 1;
    }
    return out;
  }

  std::vector<char> bytes_;
  size_t data_ = 0;
  std::map<std::string, Tensor> tensors_;
};
