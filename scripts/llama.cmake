# Changes the build of llama-cpp-python. make_venv.py passes this file to CMake as CMAKE_PROJECT_llama_cpp_INCLUDE. See
# docs/adr/0024-build.md.

# Leaves out the part that takes longest to compile and that gnod does not use: llama.cpp's library for its command-line
# programs. llama-cpp-python forces the cache entry of this name to ON. A normal variable takes precedence.
set(LLAMA_BUILD_COMMON OFF)

# No AMX. `-march=native` uses it where the processor has it, and some virtual machines offer it but then end the process with
# an illegal instruction. Only servers have AMX, and gnod's models are fast without it.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND CMAKE_C_COMPILER_ID MATCHES "GNU|Clang" AND NOT APPLE)
    add_compile_options(-mno-amx-tile -mno-amx-int8 -mno-amx-bf16)
endif()
