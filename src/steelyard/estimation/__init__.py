"""Survey estimation: what people would say of all items, from a judge of all and labels of some."""
