package io.rdmaraw.testsuite.socket;

import org.junit.jupiter.api.function.Executable;

import java.net.SocketException;
import java.util.concurrent.TimeUnit;

/**
 * Netty's multicast tests ask each interface of the host whether it is up. For one that was removed since it was listed,
 * as other tests do with theirs, the JDK throws: on that failure alone the test begins again. While the kernel takes an
 * interface down it lists it and has no device of that name any more, for some tens of milliseconds.
 */
final class VanishingInterfaces {
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(20);
    /** ENODEV, as {@link java.net.NetworkInterface#isUp()} puts it. */
    private static final String MESSAGE = "No such device (getFlags() failed)";

    private VanishingInterfaces() {
    }

    static void outlast(Executable test) throws Throwable {
        long endNanos = System.nanoTime() + PATIENCE_NANOS;
        while (true) {
            try {
                test.execute();
                return;
            } catch (SocketException e) {
                if (System.nanoTime() - endNanos >= 0 || !MESSAGE.equals(e.getMessage())) {
                    throw e;
                }
                Thread.yield();
            }
        }
    }
}
