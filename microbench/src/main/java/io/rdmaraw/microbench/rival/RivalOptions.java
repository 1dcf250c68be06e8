package io.rdmaraw.microbench.rival;

import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.examples.server.Tuning;
import io.rdmaraw.examples.server.Tuning.Channels;
import java.util.List;
import java.util.Set;
import picocli.CommandLine.Option;

/** The options that select the settings of the rival transports. */
public final class RivalOptions {
    @Option(names = "--rival", paramLabel = "R", split = ",", defaultValue = "tuned",
            converter = RivalProfile.Names.class, completionCandidates = RivalProfile.Names.class,
            description = "epoll and io_uring with Netty's defaults (stock), with the settings of --tuning (tuned), or"
                    + " both, separated by commas")
    private Set<RivalProfile> rivals;

    @Option(names = "--tuning", paramLabel = "T", split = ",", converter = Tuning.Names.class,
            completionCandidates = Tuning.Names.class, description = "the settings of tuned rivals, separated by"
                    + " commas: ${COMPLETION-CANDIDATES}; default the profile of docs/lab/rivals.md")
    private Set<Tuning> tuning;

    /**
     * Returns the sets of settings with which a transport is measured, one after the other. An empty set stands for
     * Netty's defaults. A transport without settings is measured once.
     */
    public List<Set<Tuning>> settings(Transport transport, Channels channels) {
        return rivals.stream().sorted().map(each -> each == RivalProfile.STOCK ? Set.<Tuning>of()
                : tuned(transport, channels)).distinct().toList();
    }

    private Set<Tuning> tuned(Transport transport, Channels channels) {
        return tuning == null ? RivalProfile.tuned(transport, channels)
                : RivalProfile.only(transport, channels, tuning);
    }
}
