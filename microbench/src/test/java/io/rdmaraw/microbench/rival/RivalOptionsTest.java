package io.rdmaraw.microbench.rival;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.examples.server.Tuning;
import io.rdmaraw.examples.server.Tuning.Channels;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

class RivalOptionsTest {
    @Command
    private static final class Bench {
        @Mixin
        private RivalOptions rivals;
    }

    private static List<Set<Tuning>> settings(Transport transport, Channels channels, String... words) {
        Bench bench = new Bench();
        new CommandLine(bench).parseArgs(words);
        return bench.rivals.settings(transport, channels);
    }

    @Test
    void rivalsHaveTheirProfileByDefault() {
        Set<Tuning> profile = RivalProfile.tuned(Transport.IO_URING, Channels.STREAM);
        assertFalse(profile.isEmpty());
        assertEquals(List.of(profile), settings(Transport.IO_URING, Channels.STREAM));
        assertEquals(List.of(Set.of()), settings(Transport.IO_URING, Channels.STREAM, "--rival", "stock"));
        assertEquals(List.of(Set.of(), profile),
                settings(Transport.IO_URING, Channels.STREAM, "--rival", "tuned,stock"));
    }

    @Test
    void tuningReplacesTheProfileByTheSettingsThatApply() {
        String[] words = {"--rival", "stock,tuned", "--tuning", "busy-wait,pooled,recvmmsg"};
        assertEquals(List.of(Set.of(), EnumSet.of(Tuning.POOLED, Tuning.BUSY_WAIT)),
                settings(Transport.EPOLL, Channels.STREAM, words));
        assertEquals(List.of(Set.of(), EnumSet.of(Tuning.POOLED, Tuning.RECVMMSG)),
                settings(Transport.IO_URING, Channels.DATAGRAM, words));
    }

    @Test
    void transportWithoutSettingsIsMeasuredOnce() {
        for (Transport transport : List.of(Transport.NIO, Transport.RDMA_RAW)) {
            assertEquals(List.of(Set.of()), settings(transport, Channels.STREAM, "--rival", "stock,tuned"));
        }
    }
}
