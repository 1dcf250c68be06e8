package io.rdmaraw.tools.output;

import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeCall;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.stream.Collectors;

/** How many columns the terminal of the standard output has now: it may change between two screens. */
public final class TerminalWidth {
    private static final int STDOUT = 1;
    /** {@code TIOCGWINSZ} of ioctl_tty(2); the result is four words of 16 bits: rows, columns, and pixels. */
    private static final long WINDOW_SIZE = 0x5413;
    private static final long IOCTL = Libc.address("ioctl");

    private TerminalWidth() {
    }

    /** Returns the columns, or {@link Integer#MAX_VALUE} where there is no terminal: a file has lines of any length. */
    public static int columns() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment size = arena.allocate(ValueLayout.JAVA_SHORT, 4);
            int columns = NativeCall.intValue(IOCTL, STDOUT, WINDOW_SIZE, size.address()) < 0 ? 0
                    : Short.toUnsignedInt(size.getAtIndex(ValueLayout.JAVA_SHORT, 1));
            return columns == 0 ? Integer.MAX_VALUE : columns;
        }
    }

    /** Returns the text with longer lines cut: one that a terminal folds shifts all that is below it. */
    public static String cut(String text, int columns) {
        return text.lines().map(line -> line.length() <= columns ? line : line.substring(0, Math.max(0, columns - 1))
                + '…').collect(Collectors.joining("\n", "", "\n"));
    }
}
