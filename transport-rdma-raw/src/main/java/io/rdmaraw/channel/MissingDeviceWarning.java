package io.rdmaraw.channel;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Logs a warning, once per configuration, if a server is bound although no device was set. Such a server is in memory:
 * it appears to listen on all addresses, but other hosts cannot reach it, as if a firewall blocked them.
 */
final class MissingDeviceWarning {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(MissingDeviceWarning.class);

    private final boolean unnamed;
    private final AtomicBoolean warned = new AtomicBoolean();

    MissingDeviceWarning(boolean unnamed) {
        this.unnamed = unnamed;
    }

    boolean isUnnamed() {
        return unnamed;
    }

    /**
     * Checks the address of a bound channel. A loopback address causes no warning, because only this host can reach it
     * anyway.
     */
    void warnIfUnnamed(InetSocketAddress local) {
        if (unnamed && !local.getAddress().isLoopbackAddress() && warned.compareAndSet(false, true)) {
            LOGGER.warn("a channel is bound to {}, and no device was named: it is on soft:loop, in memory, which only"
                    + " this process reaches. Name a device with RdmaRawIoHandlerConfig.builder().device(...), such as"
                    + " soft:xdp:eth0; use device(\"soft:loop\") to confirm memory", local);
        }
    }
}
