package io.rdmaraw.microbench.server;

import io.rdmaraw.examples.server.OptionNames;
import io.rdmaraw.tools.server.ServerNetwork;
import java.util.Locale;

/** On which core the kernel receives what comes over the veth pair of a bench. */
enum Arrangement {
    /**
     * By Receive Packet Steering, on a core of the end that receives, as a card's interrupt would have it. Each end
     * pays for what it receives, and for an interrupt between processors where the other core is to be told.
     */
    RPS("") {
        @Override
        void applyTo(ServerNetwork network, int serverCore, int clientCore) {
            network.receiveOn(serverCore, clientCore);
        }
    },
    /** As the pair is made: on the core of the sender, who pays for what the other end receives. */
    PLAIN("plain.") {
        @Override
        void applyTo(ServerNetwork network, int serverCore, int clientCore) {
            // Nothing to do: a pair is made so.
        }

        /** The time of the server's core has in it what the client receives, and not what the server does. */
        @Override
        boolean tells(Measure measure) {
            return measure != Measure.PER_SERVER_CPU && measure != Measure.SERVER_CPU;
        }
    };

    private final String casePrefix;

    Arrangement(String casePrefix) {
        this.casePrefix = casePrefix;
    }

    /** Returns what the names of cases begin with. */
    String casePrefix() {
        return casePrefix;
    }

    /** Returns its name in options. */
    String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Returns whether a figure tells of the server in this arrangement. */
    boolean tells(Measure measure) {
        return true;
    }

    /** Arranges a network that is as the kernel made it. */
    abstract void applyTo(ServerNetwork network, int serverCore, int clientCore);

    /** The names in options of commands. */
    static final class Names extends OptionNames<Arrangement> {
        private static final long serialVersionUID = 1L;

        /** picocli creates it. */
        Names() {
            super(values(), Arrangement::text);
        }
    }
}
