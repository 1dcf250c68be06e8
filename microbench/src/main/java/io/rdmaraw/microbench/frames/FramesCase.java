package io.rdmaraw.microbench.frames;

import java.util.Locale;

/**
 * What is measured.
 *
 * @param burst frames that the generator sends with one call
 */
record FramesCase(Mode mode, int burst) {
    enum Mode {
        /** A generator sends, the loop under test receives and releases. */
        RX,
        /** The loop under test sends each frame back, and the generator counts what returns. */
        ECHO
    }

    /** The name in reports, which scripts read. */
    String caseName() {
        return modeName() + ".burst" + burst;
    }

    /** The name of the mode in the arguments of the C program. */
    String modeName() {
        return mode.name().toLowerCase(Locale.ROOT);
    }
}
