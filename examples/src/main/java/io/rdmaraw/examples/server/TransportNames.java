package io.rdmaraw.examples.server;

/** The names of transports in options of commands. */
public final class TransportNames extends OptionNames<Transport> {
    private static final long serialVersionUID = 1L;

    /** picocli creates it. */
    public TransportNames() {
        super(Transport.values(), Transport::toString);
    }
}
