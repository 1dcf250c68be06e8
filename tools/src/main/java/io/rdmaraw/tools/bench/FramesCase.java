package io.rdmaraw.tools.bench;

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

    /** The name in reports: scripts read it. */
    String caseName() {
        return modeName() + ".burst" + burst;
    }

    /** As the C program takes it. */
    String modeName() {
        return mode.name().toLowerCase(Locale.ROOT);
    }
}
