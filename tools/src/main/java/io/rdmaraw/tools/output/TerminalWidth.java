package io.rdmaraw.tools.output;

import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeCall;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.stream.Collectors;

/** The current width of the terminal. It can change while a command runs. */
public final class TerminalWidth {
    private static final int STDOUT = 1;
    /** {@code TIOCGWINSZ} of ioctl_tty(2). The result is four 16-bit words: rows, columns, and the size in pixels. */
    private static final long WINDOW_SIZE = 0x5413;
    private static final long IOCTL = Libc.address("ioctl");

    private TerminalWidth() {
    }

    /**
     * Returns the columns of the terminal; {@link Integer#MAX_VALUE} without a terminal, because a file has no width.
     */
    public static int columns() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment size = arena.allocate(ValueLayout.JAVA_SHORT, 4);
            int columns = NativeCall.intValue(IOCTL, STDOUT, WINDOW_SIZE, size.address()) < 0 ? 0
                    : Short.toUnsignedInt(size.getAtIndex(ValueLayout.JAVA_SHORT, 1));
            return columns == 0 ? Integer.MAX_VALUE : columns;
        }
    }

    /** Cuts lines that are too long. A line that the terminal wraps would shift all lines below it. */
    public static String truncate(String text, int columns) {
        return text.lines().map(line -> line.length() <= columns ? line : line.substring(0, Math.max(0, columns - 1))
                + '…').collect(Collectors.joining("\n", "", "\n"));
    }
}
