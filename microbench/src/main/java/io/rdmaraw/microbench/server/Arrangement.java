package io.rdmaraw.microbench.server;

import io.rdmaraw.examples.server.OptionNames;
import io.rdmaraw.tools.server.ServerNetwork;
import java.util.Locale;

/** The assignment of the kernel's packet reception on a veth pair to cores. */
enum Arrangement {
    /**
     * Receive Packet Steering moves reception to the core of the receiver, as the interrupt of a network card would.
     * Each end pays for the frames that it receives and for the interrupts between the cores.
     */
    RPS("") {
        @Override
        void applyTo(ServerNetwork network, int serverCore, int clientCore) {
            network.receiveOn(serverCore, clientCore);
        }
    },
    /** The default of a veth pair: the core of the sender also runs the reception at the other end. */
    PLAIN("plain.") {
        @Override
        void applyTo(ServerNetwork network, int serverCore, int clientCore) {
            // The default needs no setting.
        }

        /**
         * The busy time of the server's core includes reception for the client but not reception for the server.
         * Figures based on it are therefore meaningless.
         */
        @Override
        boolean tells(Measure measure) {
            return measure != Measure.PER_SERVER_CPU && measure != Measure.SERVER_CPU;
        }
    };

    private final String casePrefix;

    Arrangement(String casePrefix) {
        this.casePrefix = casePrefix;
    }

    /** Returns the prefix of case names. */
    String casePrefix() {
        return casePrefix;
    }

    /** Returns the name in options. */
    String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Returns whether a figure is meaningful for the server in this arrangement. */
    boolean tells(Measure measure) {
        return true;
    }

    /** Applies the arrangement to a network that has default settings. */
    abstract void applyTo(ServerNetwork network, int serverCore, int clientCore);

    /** Parses the names in the options of commands. */
    static final class Names extends OptionNames<Arrangement> {
        private static final long serialVersionUID = 1L;

        /** Called by picocli. */
        Names() {
            super(values(), Arrangement::text);
        }
    }
}
