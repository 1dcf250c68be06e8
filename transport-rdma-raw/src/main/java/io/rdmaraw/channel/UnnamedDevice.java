package io.rdmaraw.channel;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Says once for the loops of a configuration that no device was named, where that matters: a server that says it
 * listens on all addresses, but is in memory, looks as if a firewall were in the way.
 */
final class UnnamedDevice {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(UnnamedDevice.class);

    private final boolean unnamed;
    private final AtomicBoolean told = new AtomicBoolean();

    UnnamedDevice(boolean unnamed) {
        this.unnamed = unnamed;
    }

    boolean isUnnamed() {
        return unnamed;
    }

    /** A channel is bound. Who binds to a loopback address wants this host alone. */
    void bound(InetSocketAddress local) {
        if (unnamed && !local.getAddress().isLoopbackAddress() && told.compareAndSet(false, true)) {
            LOGGER.warn("a channel is bound to {}, and no device was named: it is on soft:loop, in memory, which only"
                    + " this process reaches. Name a device with RdmaRawIoHandlerConfig.builder().device(...), such as"
                    + " soft:xdp:eth0; device(\"soft:loop\") says that memory is meant", local);
        }
    }
}
