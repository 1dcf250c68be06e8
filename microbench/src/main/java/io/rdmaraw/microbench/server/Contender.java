package io.rdmaraw.microbench.server;

import io.rdmaraw.examples.server.Tuning;
import io.rdmaraw.microbench.rival.RivalProfile;
import java.util.List;
import java.util.Set;

/**
 * A server under load, with its transport and its settings.
 *
 * @param text      name in rows
 * @param transport transport of the server
 * @param tuning    settings of the transport; empty for Netty's defaults
 */
record Contender(String text, ServerTransport transport, Set<Tuning> tuning) {
    /** Returns a server with the defaults of its transport. */
    static Contender stock(ServerTransport transport) {
        return new Contender(transport.text(), transport, Set.of());
    }

    /** Returns a server with the settings of a tuned rival, or with the defaults if there are none. */
    static Contender tuned(ServerTransport transport, Set<Tuning> tuning) {
        return tuning.isEmpty() ? stock(transport) : new Contender(transport.text() + "-tuned", transport, tuning);
    }

    /** Returns a server with the given settings. Its name lists them. */
    static Contender candidate(ServerTransport transport, Set<Tuning> tuning) {
        return new Contender(transport.text() + '+' + RivalProfile.words(tuning, "+"), transport, tuning);
    }

    String device() {
        return transport.device();
    }

    /** Returns the command-line options of the server that select the settings. */
    List<String> tuningOptions() {
        return RivalProfile.options(tuning);
    }

    /** Returns whether the event loop of the server keeps its core busy even without work. */
    boolean neverSleeps() {
        return tuning.contains(Tuning.BUSY_WAIT);
    }
}
