package io.rdmaraw.testsuite.socket;

import org.junit.jupiter.api.function.Executable;

import java.net.SocketException;

/**
 * Netty's multicast tests ask each interface of the host whether it is up. For one that was removed since it was listed,
 * as other tests do with theirs, the JDK throws: on that failure alone the test begins again.
 */
final class VanishingInterfaces {
    private static final int MAX_ATTEMPTS = 20;
    /** ENODEV, as {@link java.net.NetworkInterface#isUp()} puts it. */
    private static final String MESSAGE = "No such device (getFlags() failed)";

    private VanishingInterfaces() {
    }

    static void outlast(Executable test) throws Throwable {
        for (int attempt = 1;; attempt++) {
            try {
                test.execute();
                return;
            } catch (SocketException e) {
                if (attempt == MAX_ATTEMPTS || !MESSAGE.equals(e.getMessage())) {
                    throw e;
                }
            }
        }
    }
}
