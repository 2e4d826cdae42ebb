# Settings that matter on a CPU; source this before train.py.
# One thread: on a shared machine a second OpenBLAS thread spends its time waiting for the first.
export OMP_NUM_THREADS=1
# Large buffers are kept and backed by huge pages: otherwise each step faults its activations in anew.
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1
export MALLOC_MMAP_THRESHOLD_=4000000000 MALLOC_TRIM_THRESHOLD_=8000000000 MALLOC_TOP_PAD_=67108864
# OpenBLAS's Haswell kernels were about a tenth faster than the Zen ones it picks itself on a Zen 4 machine. x86-64 only.
if [ "$(uname -m)" = x86_64 ]; then export OPENBLAS_CORETYPE=Haswell; fi
