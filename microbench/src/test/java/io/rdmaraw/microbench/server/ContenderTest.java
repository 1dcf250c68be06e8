package io.rdmaraw.microbench.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.examples.server.Tuning;
import io.rdmaraw.examples.server.Tuning.Channels;
import io.rdmaraw.microbench.BenchRun;
import io.rdmaraw.microbench.rival.RivalProfile;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ContenderTest {
    @Test
    void serverWithSettingsHasTheSameTransportAndDevice() {
        assertArrayEquals(new String[] {"--transport", "rdma-raw", "--device", "soft:xdp:eth0", "--allocator", "heap"},
                ServerTransport.RDMA_RAW_HEAP.options("eth0"));
        assertArrayEquals(new String[] {"--transport", "rdma-raw", "--device", "soft:xdp:eth0"},
                ServerTransport.RDMA_RAW.options("eth0"));
        assertArrayEquals(new String[] {"--transport", "io_uring"}, ServerTransport.IO_URING.options("eth0"));
    }

    @Test
    void nameShowsTheFormOfTheRival() {
        Set<Tuning> settings = EnumSet.of(Tuning.POOLED, Tuning.RECVMMSG);
        assertEquals("epoll", Contender.stock(ServerTransport.EPOLL).text());
        assertEquals("epoll-tuned", Contender.tuned(ServerTransport.EPOLL, settings).text());
        assertEquals("epoll+recvmmsg+pooled", Contender.candidate(ServerTransport.EPOLL, settings).text());
        assertEquals("nio", Contender.tuned(ServerTransport.NIO, Set.of()).text());
    }

    @Test
    void serverHasTheOptionOfItsSettings() {
        assertEquals(List.of(), Contender.stock(ServerTransport.EPOLL).tuningOptions());
        Contender busy = Contender.tuned(ServerTransport.EPOLL, EnumSet.of(Tuning.BUSY_WAIT, Tuning.RECVMMSG));
        assertEquals(List.of("--tuning", "recvmmsg,busy-wait"), busy.tuningOptions());
        assertTrue(busy.neverSleeps());
        assertFalse(Contender.stock(ServerTransport.EPOLL).neverSleeps());
    }

    @ParameterizedTest
    @EnumSource(Channels.class)
    void sweepHasOnlySettingsThatApplyAndEachOfTheProfile(Channels channels) {
        for (Transport transport : Transport.values()) {
            Set<Set<Tuning>> sweep = RivalsCommand.settings(transport, channels, false);
            assertTrue(sweep.stream().flatMap(Set::stream).allMatch(each -> each.isFor(transport, channels)),
                    sweep.toString());
            Set<Tuning> profile = RivalProfile.tuned(transport, channels);
            assertTrue(profile.isEmpty() || sweep.contains(profile), sweep.toString());
        }
    }

    @Test
    void sweepWithLargeAnswersHasZeroCopyOnly() {
        assertEquals(Set.of(EnumSet.of(Tuning.ZERO_COPY)),
                RivalsCommand.settings(Transport.IO_URING, Channels.STREAM, true));
        assertEquals(Set.of(), RivalsCommand.settings(Transport.EPOLL, Channels.STREAM, true));
    }

    @ParameterizedTest
    @ValueSource(strings = {"dns --transport rdma-raw,rdma-raw-boss", "redis --transport rdma-raw,rdma-raw-heap",
        "http --tls jdk --transport rdma-raw,rdma-raw-pooled", "http --polled --tls jdk", "http --polled --shape large",
        "tcp --polled --loop-only"})
    void optionsThatExcludeEachOtherAreRefusedBeforeAnythingRuns(String words) {
        BenchRun run = BenchRun.of(("bench " + words).split(" "));
        assertEquals(2, run.exitCode(), run.err());
        assertTrue(run.err().contains("--transport: only") || run.err().contains("--polled "), run.err());
    }
}
