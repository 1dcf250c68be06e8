package io.rdmaraw.tools.output;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Keys as they are pressed, while the standard input is a terminal: stty(1) ends its lines and its echo, and
 * {@link #close()} restores both. Without a terminal, or without stty, no key is ever pressed.
 */
public final class TerminalKeys implements AutoCloseable {
    /** What {@link #await} returns when the time is over. */
    public static final int NONE = -1;
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final InputStream input;
    /** As {@code stty -g} has them; null where nothing was changed. */
    private final String settings;

    private TerminalKeys(InputStream input, String settings) {
        this.input = input;
        this.settings = settings;
    }

    TerminalKeys(InputStream input) {
        this(input, null);
    }

    /** Takes the keys of the standard input, where that and the output are a terminal. */
    public static TerminalKeys open() {
        boolean terminal = System.console() != null && System.console().isTerminal();
        String settings = terminal ? stty("-g") : null;
        boolean taken = settings != null && stty("-icanon", "-echo", "min", "1") != null;
        return new TerminalKeys(taken ? System.in : InputStream.nullInputStream(), taken ? settings : null);
    }

    /** Returns the next key, or {@link #NONE} after {@code nanos} without one, or when the command is to end. */
    public int await(long nanos, BooleanSupplier goOn) throws InterruptedException {
        long end = System.nanoTime() + nanos;
        while (!isPressed()) {
            long left = end - System.nanoTime();
            if (left <= 0 || !goOn.getAsBoolean()) {
                return NONE;
            }
            TimeUnit.NANOSECONDS.sleep(Math.min(left, LOOK_NANOS));
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
            // The terminal is gone; the signal for that ends the command.
            return false;
        }
    }

    @Override
    public void close() {
        if (settings != null) {
            stty(settings);
        }
    }

    /** Returns what it printed, or null when it failed. */
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
