package io.rdmaraw.examples.server;

/** The names of the transports in command line options. */
public final class TransportNames extends OptionNames<Transport> {
    private static final long serialVersionUID = 1L;

    /** Called by picocli. */
    public TransportNames() {
        super(Transport.values(), Transport::toString);
    }
}
