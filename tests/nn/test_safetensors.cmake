target_sources(${target} PRIVATE nn/safetensors_craft.c)
