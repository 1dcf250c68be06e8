package io.rdmaraw.microbench.server;

import java.util.Set;
import picocli.CommandLine.Option;

/** The arrangements that a bench of servers measures in, one after the other. */
final class ArrangementOption {
    @Option(names = "--arrangement", paramLabel = "A", split = ",", defaultValue = "rps",
            converter = Arrangement.Names.class, completionCandidates = Arrangement.Names.class,
            description = "which core the kernel receives on, separated by commas: rps: one of the end that receives,"
                    + " as a card's interrupt would have it; plain: the sender's, as the pair is made (cases plain.*),"
                    + " where no figure of the server's core is told, as the client's has a part of its work")
    private Set<Arrangement> arrangements;

    /** Returns what was asked for, without repetitions. */
    Set<Arrangement> arrangements() {
        return arrangements;
    }
}
