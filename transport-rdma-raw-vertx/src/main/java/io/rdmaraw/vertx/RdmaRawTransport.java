package io.rdmaraw.vertx;

import io.rdmaraw.channel.RdmaRaw;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.vertx.core.transport.Transport;

import java.util.Objects;

/**
 * This transport for a Vert.x instance: {@code Vertx.builder().withTransport(new RdmaRawTransport(config)).build()}.
 * TCP and UDP go by the device that the settings name; domain sockets are the kernel's.
 */
public final class RdmaRawTransport implements Transport {
    private final RdmaRawIoHandlerConfig config;

    /**
     * Makes the transport.
     *
     * @param config how the event loops drive their queues, and which device is theirs
     */
    public RdmaRawTransport(RdmaRawIoHandlerConfig config) {
        this.config = Objects.requireNonNull(config, "config");
    }

    @Override
    public String name() {
        return "rdma-raw";
    }

    @Override
    public boolean available() {
        return RdmaRaw.isAvailable();
    }

    @Override
    public Throwable unavailabilityCause() {
        return RdmaRaw.unavailabilityCause();
    }

    @Override
    public io.vertx.core.spi.transport.Transport implementation() {
        return new RdmaRawTransportProvider(config);
    }
}
