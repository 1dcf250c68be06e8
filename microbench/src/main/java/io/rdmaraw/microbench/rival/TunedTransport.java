package io.rdmaraw.microbench.rival;

import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.examples.server.Tuning;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A transport with its settings.
 *
 * @param transport the transport
 * @param tuning    settings; empty for the defaults
 */
public record TunedTransport(Transport transport, Set<Tuning> tuning) {
    /** Returns a transport with its defaults. */
    public static TunedTransport stock(Transport transport) {
        return new TunedTransport(transport, Set.of());
    }

    /** Returns whether this is the transport of this project. */
    public boolean isRdmaRaw() {
        return transport == Transport.RDMA_RAW;
    }

    /** Returns the command-line options of a process that select this transport and its settings. */
    public List<String> options() {
        return Stream.concat(Stream.of("--transport", transport.name()), RivalProfile.options(tuning).stream())
                .toList();
    }

    /** Returns the name in the rows of reports. */
    @Override
    public String toString() {
        return tuning.isEmpty() ? transport.toString() : transport + "-tuned";
    }
}
