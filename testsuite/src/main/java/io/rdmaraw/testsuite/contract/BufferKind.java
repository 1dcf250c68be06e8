package io.rdmaraw.testsuite.contract;

/** The allocator and the memory of a written buffer. */
enum BufferKind {
    /** The allocator of the channel. On this project's loops, it is the transport's. */
    CHANNEL, HEAP, DIRECT, POOLED, POOLED_HEAP, ADAPTIVE, ADAPTIVE_HEAP, WRAPPED_ARRAY, WRAPPED_DIRECT, WRAPPED_ADDRESS,
    COMPOSITE, COMPOSITE_OF_SLICES, UNRELEASABLE_DIRECT, UNRELEASABLE_POOLED, UNRELEASABLE_ADAPTIVE;

    /** Returns whether the writer holds the only reference, so that releases by others have no effect. */
    boolean isUnreleasable() {
        return this == UNRELEASABLE_DIRECT || this == UNRELEASABLE_POOLED || this == UNRELEASABLE_ADAPTIVE;
    }

    /** The form in which the writer passes its buffer. */
    enum Shape {
        /** The buffer itself. The writer keeps no reference. */
        WHOLE,
        /** The buffer itself. The writer retains it. */
        RETAINED,
        RETAINED_DUPLICATE, RETAINED_SLICE,
        /** A duplicate or slice created with {@code duplicate()} or {@code slice()} after {@code retain()}. */
        DUPLICATE, SLICE,
        READ_ONLY;

        boolean keeps() {
            return this != WHOLE;
        }
    }

    /** The action of the writer after the promise has completed. */
    enum After {
        NOTHING,
        /** Overwrite the memory with other bytes. */
        REFILL,
        /** Release the reference, then allocate and fill a buffer of the same kind. */
        REUSE
    }
}
