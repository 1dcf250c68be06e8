package io.rdmaraw.tools.output;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Reads single key presses if the standard input is a terminal. stty(1) disables line buffering and echo;
 * {@link #close()} restores both. Without a terminal or without stty, no key is ever reported.
 */
public final class TerminalKeys implements AutoCloseable {
    /** The value returned by {@link #await} if no key was pressed. */
    public static final int NONE = -1;
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final InputStream input;
    /** The output of {@code stty -g}; null if no setting was changed. */
    private final String settings;

    private TerminalKeys(InputStream input, String settings) {
        this.input = input;
        this.settings = settings;
    }

    TerminalKeys(InputStream input) {
        this(input, null);
    }

    /** Starts to read keys if both standard input and output are a terminal. */
    public static TerminalKeys open() {
        boolean terminal = System.console() != null && System.console().isTerminal();
        String settings = terminal ? stty("-g") : null;
        boolean taken = settings != null && stty("-icanon", "-echo", "min", "1") != null;
        return new TerminalKeys(taken ? System.in : InputStream.nullInputStream(), taken ? settings : null);
    }

    /** Waits for a key and returns it. Returns {@link #NONE} if the time is over or the command is to end. */
    public int await(long nanos, BooleanSupplier keepRunning) throws InterruptedException {
        long end = System.nanoTime() + nanos;
        while (!isPressed()) {
            long left = end - System.nanoTime();
            if (left <= 0 || !keepRunning.getAsBoolean()) {
                return NONE;
            }
            TimeUnit.NANOSECONDS.sleep(Math.min(left, POLL_NANOS));
        }
        try {
            return input.read();
        } catch (IOException e) {
            return NONE;
        }
    }

    private boolean isPressed() {
        try {
            return input.available() > 0;
        } catch (IOException e) {
            // The terminal has been closed; the resulting signal ends the command.
            return false;
        }
    }

    @Override
    public void close() {
        if (settings != null) {
            stty(settings);
        }
    }

    /** Returns the output of stty, or null if it failed. */
    private static String stty(String... arguments) {
        String[] command = new String[arguments.length + 1];
        command[0] = "stty";
        System.arraycopy(arguments, 0, command, 1, arguments.length);
        try {
            Process process = new ProcessBuilder(command).redirectInput(Redirect.INHERIT)
                    .redirectError(Redirect.DISCARD).start();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).strip();
            return process.waitFor() == 0 ? output : null;
        } catch (IOException e) {
            return null;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        }
    }
}
