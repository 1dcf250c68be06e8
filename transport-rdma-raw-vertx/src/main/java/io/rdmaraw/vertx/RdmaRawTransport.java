package io.rdmaraw.vertx;

import io.rdmaraw.channel.RdmaRaw;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.vertx.core.transport.Transport;

import java.util.Objects;

/**
 * The transport for a Vert.x instance: {@code Vertx.builder().withTransport(new RdmaRawTransport(config)).build()}. The
 * configured device serves TCP and UDP; the kernel serves domain sockets.
 */
public final class RdmaRawTransport implements Transport {
    private final RdmaRawIoHandlerConfig config;

    /**
     * Creates the transport.
     *
     * @param config settings of the event loops, including the device
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
