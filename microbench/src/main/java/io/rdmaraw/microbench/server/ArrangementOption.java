package io.rdmaraw.microbench.server;

import java.util.Set;
import picocli.CommandLine.Option;

/** The option that selects the arrangements of a bench. */
final class ArrangementOption {
    @Option(names = "--arrangement", paramLabel = "A", split = ",", defaultValue = "rps",
            converter = Arrangement.Names.class, completionCandidates = Arrangement.Names.class,
            description = "the core on which the kernel receives, separated by commas: rps: the receiver's core, as"
                    + " with a card's interrupt; plain: the sender's core, the default of a veth pair (cases plain.*)."
                    + " With plain there are no figures of the server's core, because the client's core does a part of"
                    + " its work")
    private Set<Arrangement> arrangements;

    /** Returns the arrangements, without duplicates and in the order of the command line. */
    Set<Arrangement> arrangements() {
        return arrangements;
    }
}
