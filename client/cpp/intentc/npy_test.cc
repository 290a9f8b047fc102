// .npy files: what NumPy writes is read, what is not a file of the dtype is refused with a reason.

#include "client/cpp/intentc/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "absl/strings/str_cat.h"

namespace intent::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
std::string Bytes(std::vector<T> values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// A file of format version 1 (or 2) with this header.
std::string File(const std::string& header, const std::string& data, int version = 1) {
  std::string bytes("\x93NUMPY", 6);
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    bytes += static_cast<char>(header.size() >> (8 * i));
  }
  return bytes + header + data;
}

std::string Header(const std::string& descriptor, const std::string& shape, bool fortran = false) {
  return absl::StrCat("{'descr': '", descriptor, "', 'fortran_order': ", fortran ? "True" : "False",
                      ", 'shape': ", shape, ", }   \n");
}

std::string Message(const std::string& file, DType dtype) {
  return std::string(ParseNpy(file, dtype).status().message());
}

TEST(Npy, ReadsRowMajorArrays) {
  const std::string data = Bytes<float>({1, 2, 3, 4, 5, 6});
  for (const int version : {1, 2, 3}) {
    const auto array = ParseNpy(File(Header("<f4", "(2, 3)"), data, version), DType::kF32);
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_THAT(array->shape, ElementsAre(2, 3));
    EXPECT_THAT(array->strides, ElementsAre(3, 1));
    EXPECT_EQ(array->data, data);
  }
}

TEST(Npy, FortranOrderIsAMatterOfStrides) {
  const auto array =
      ParseNpy(File(Header("<f4", "(2, 3)", true), Bytes<float>({1, 4, 2, 5, 3, 6})), DType::kF32);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->strides, ElementsAre(1, 2));
  EXPECT_EQ(RowMajorBytes(*array, DType::kF32), Bytes<float>({1, 2, 3, 4, 5, 6}));
}

TEST(Npy, ScalarsVectorsAndEmptyArraysHaveTheirShapes) {
  EXPECT_THAT(ParseNpy(File(Header("<f8", "()"), Bytes<double>({1})), DType::kF64)->shape,
              ElementsAre());
  EXPECT_THAT(ParseNpy(File(Header("<i2", "(2,)"), Bytes<int16_t>({1, 2})), DType::kI16)->shape,
              ElementsAre(2));
  EXPECT_THAT(ParseNpy(File(Header("|b1", "(0, 4)"), ""), DType::kBool)->shape, ElementsAre(0, 4));
}

TEST(Npy, FormatsWithoutANumpyTypeAreBitPatterns) {
  for (const char* descriptor : {"<u2", "<V2", "|V2"}) {
    EXPECT_TRUE(ParseNpy(File(Header(descriptor, "(1,)"), "ab"), DType::kBF16).ok());
  }
  EXPECT_TRUE(ParseNpy(File(Header("|u1", "(1,)"), "a"), DType::kF8E5M2).ok());
}

TEST(Npy, AnotherDtypeIsRefusedByName) {
  const std::string message = Message(File(Header("<f8", "(1,)"), Bytes<double>({1})), DType::kF32);
  EXPECT_THAT(message, HasSubstr("'<f8'"));
  EXPECT_THAT(message, HasSubstr("f32"));
  EXPECT_THAT(Message(File(Header(">f4", "(1,)"), "abcd"), DType::kF32), HasSubstr("big endian"));
}

TEST(Npy, ABoolIsZeroOrOne) {
  EXPECT_TRUE(ParseNpy(File(Header("|b1", "(2,)"), std::string("\0\1", 2)), DType::kBool).ok());
  EXPECT_THAT(Message(File(Header("|b1", "(1,)"), "\2"), DType::kBool), HasSubstr("neither"));
}

TEST(Npy, DataMustFitTheShape) {
  for (const char* shape : {"(3,)", "(1,)", "(4611686018427387904, 4)", "(9223372036854775807,)",
                            "(0, 9223372036854775807, 9223372036854775807)"}) {
    EXPECT_FALSE(ParseNpy(File(Header("<f4", shape), Bytes<float>({1, 2})), DType::kF32).ok())
        << shape;
  }
}

TEST(Npy, MalformedHeadersAreRefused) {
  for (const char* header :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': Maybe, 'shape': ()}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} tail",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1"}) {
    EXPECT_FALSE(ParseNpy(File(header, Bytes<float>({1})), DType::kF32).ok()) << header;
  }
}

TEST(Npy, EveryPrefixOfAFileIsRefused) {
  const std::string file = File(Header("<f4", "(2,)"), Bytes<float>({1, 2}));
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(ParseNpy(file.substr(0, size), DType::kF32).ok()) << size;
  }
}

TEST(Npy, WhatIsWrittenIsReadBackRowMajor) {
  Array array{{2, 2}, {1, 2}, Bytes<int32_t>({1, 3, 2, 4})};
  const std::string file = FormatNpy(array, DType::kI32);
  EXPECT_EQ((file.size() - array.data.size()) % 64, 0u);
  const auto back = ParseNpy(file, DType::kI32);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->data, Bytes<int32_t>({1, 2, 3, 4}));
}

TEST(Npy, FilesThatAreNotThereOrAreFoldersAreNamed) {
  EXPECT_THAT(std::string(ReadNpy("/nowhere/x.npy", DType::kF32).status().message()),
              HasSubstr("cannot read /nowhere/x.npy"));
  EXPECT_THAT(std::string(ReadNpy("/tmp", DType::kF32).status().message()), HasSubstr("folder"));
}

}  // namespace
}  // namespace intent::client
