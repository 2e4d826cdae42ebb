#include "models/open.h"

#include "models/bitnet/network.h"
#include "models/symboliclight/network.h"

namespace spiked {

Result<std::unique_ptr<const Network>> open_network(const GgufFile& file, const NetworkOptions& options) {
  auto found = get_string(file, "general.architecture");
  if (!found.ok()) return found.status();
  const std::string_view architecture = found.value();
  if (architecture == "symboliclight") return symboliclight::open(file, options);
  if (architecture == "bitnet-b1.58" || architecture == "bitnet-25") return bitnet::open(file, options);
  // Their graphs have SiLU, and the second one biases: close enough to pass for ours, and wrong.
  const bool other_graph = architecture == "bitnet" || architecture == "bitnet-qwen";
  return Status{
      Code::ERR_MODEL_UNSUPPORTED,
      format("%s: expected architecture \"symboliclight\", \"bitnet-b1.58\" or \"bitnet-25\", found \"%s\"%s",
             file.path().c_str(), std::string(architecture.substr(0, 64)).c_str(),
             other_graph ? ", whose graph has SiLU instead of squared ReLU" : "")};
}

}  // namespace spiked
