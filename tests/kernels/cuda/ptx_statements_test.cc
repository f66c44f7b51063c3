// The PTX statements of kernels/cuda/mma.cuh, written a second time from the PTX manual. nvcc
// checks that they are PTX, and the fake CUDA tests what surrounds them; that each does what its
// function promises is only read here: operands in the manual's order, the transposing load under
// its name, the upper half of a bf16 pair first.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace horizon {
namespace {

// Each function that contains a statement and the statement, without blanks and line breaks; parts
// of a string that is cut into lines are joined.
std::vector<std::string> Statements() {
  std::ifstream in("kernels/cuda/mma.cuh");
  std::stringstream stream;
  stream << in.rdbuf();
  std::string text = std::regex_replace(stream.str(), std::regex("//[^\n]*"), "");
  text = std::regex_replace(text, std::regex("\"\\s+\""), "");
  text = std::regex_replace(text, std::regex("\\s+"), " ");
  static const std::regex kPart(
      "__device__ __forceinline__ \\w+ (\\w+)\\(|asm( volatile)?\\(.*?\\);");
  std::vector<std::string> found;
  std::string function;
  for (std::sregex_iterator at(text.begin(), text.end(), kPart), end; at != end; ++at) {
    if ((*at)[1].matched) {
      function = (*at)[1];
    } else {
      found.push_back(function);
      found.back() += ": ";
      found.back() += std::regex_replace(at->str(), std::regex(" "), "");
    }
  }
  return found;
}

TEST(PtxStatements, AreThoseOfTheManual) {
  // D, A, B, C; D and C are the same registers.
  const std::string multiply =
      R"(MultiplyAdd: asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32)"
      R"({%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};")"
      R"(:"+f"(sums.values[0]),"+f"(sums.values[1]),"+f"(sums.values[2]),"+f"(sums.values[3]))"
      R"(:"r"(a.pairs[0]),"r"(a.pairs[1]),"r"(a.pairs[2]),"r"(a.pairs[3]),)"
      R"("r"(b.pairs[0]),"r"(b.pairs[1]));)";
  const std::string four =
      R"({%0,%1,%2,%3},[%4];":"=r"(four.pairs[0]),"=r"(four.pairs[1]),)"
      R"("=r"(four.pairs[2]),"=r"(four.pairs[3]):"r"(SharedAddress(row)):"memory");)";
  const std::string load =
      R"(LoadMatrices: asmvolatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16)" + four;
  const std::string load_transposed =
      R"(LoadTransposed: asmvolatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16)" + four;
  // Target, source, the size of the copy, the bytes of the source that are read.
  const std::string copy =
      R"(CopyAsync: asmvolatile("cp.async.cg.shared.global[%0],[%1],16,%2;"::"r"(SharedAddress(to)),)"
      R"("l"(__cvta_generic_to_global(from)),"r"(bytes):"memory");)";
  const std::string commit = R"(CommitCopies: asmvolatile("cp.async.commit_group;":::"memory");)";
  const std::string wait =
      R"(WaitForCopies: asmvolatile("cp.async.wait_group%0;"::"n"(kPending):"memory");)";
  // The first source becomes the upper half.
  const std::string pack =
      R"(PackBf16: asm("cvt.rn.bf16x2.f32%0,%1,%2;":"=r"(pair):"f"(high),"f"(low));)";
  const std::vector<std::string> expected = {multiply, load, load_transposed, copy, commit,
                                             wait,     pack};
  EXPECT_EQ(Statements(), expected);
}

}  // namespace
}  // namespace horizon
