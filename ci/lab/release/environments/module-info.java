/** A program of modules, from which an image is linked. */
module smoke {
    requires io.rdmaraw;
}
