package io.rdmaraw.microbench.frames;

import java.util.Locale;

/**
 * A case of the frames bench.
 *
 * @param burst number of frames that the generator sends with one call
 */
record FramesCase(Mode mode, int burst) {
    enum Mode {
        /** A generator sends; the loop under test receives the frames and releases them. */
        RX,
        /** The loop under test sends each frame back, and the generator counts the returned frames. */
        ECHO
    }

    /** Returns the name in reports. Scripts rely on it. */
    String caseName() {
        return modeName() + ".burst" + burst;
    }

    /** Returns the name of the mode in the arguments of the C program. */
    String modeName() {
        return mode.name().toLowerCase(Locale.ROOT);
    }
}
