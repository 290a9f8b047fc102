// Nothing: a library of this name is part of NVRTC.
