package io.rdmaraw.channel.settings;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Logs a warning, once per configuration, if a server is bound although no device was set. Such a server is in memory:
 * it appears to listen on all addresses, but other hosts cannot reach it, as if a firewall blocked them.
 */
public final class MissingDeviceWarning {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(MissingDeviceWarning.class);

    private final boolean deviceMissing;
    private final AtomicBoolean warned = new AtomicBoolean();

    public MissingDeviceWarning(boolean deviceMissing) {
        this.deviceMissing = deviceMissing;
    }

    public boolean isDeviceMissing() {
        return deviceMissing;
    }

    /**
     * Checks the address of a bound channel. A loopback address causes no warning, because only this host can reach it
     * anyway.
     */
    public void warnIfDeviceMissing(InetSocketAddress local) {
        if (deviceMissing && !local.getAddress().isLoopbackAddress() && warned.compareAndSet(false, true)) {
            LOGGER.warn("a channel is bound to {}, and no device was named: the channel is on the in-memory device"
                    + " soft:loop, which only this process reaches. Name a device with"
                    + " RdmaRawIoHandlerConfig.builder().device(...), such as soft:xdp:eth0. If the channel should be"
                    + " in memory, set device(\"soft:loop\"): then this warning is not logged", local);
        }
    }
}
