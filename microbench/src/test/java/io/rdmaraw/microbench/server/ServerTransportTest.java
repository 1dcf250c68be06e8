package io.rdmaraw.microbench.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.microbench.BenchRun;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ServerTransportTest {
    @Test
    void aServerWithSettingsHasTheSameTransportAndDevice() {
        assertArrayEquals(new String[] {"--transport", "rdma-raw", "--device", "soft:xdp:eth0", "--allocator", "heap"},
                ServerTransport.RDMA_RAW_HEAP.options("eth0"));
        assertArrayEquals(new String[] {"--transport", "rdma-raw", "--device", "soft:xdp:eth0"},
                ServerTransport.RDMA_RAW.options("eth0"));
        assertArrayEquals(new String[] {"--transport", "io_uring"}, ServerTransport.IO_URING.options("eth0"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"dns --transport rdma-raw,rdma-raw-boss", "redis --transport rdma-raw,rdma-raw-heap",
        "http --tls jdk --transport rdma-raw,rdma-raw-pooled", "http --polled --tls jdk", "http --polled --shape large",
        "tcp --polled --loop-only"})
    void whatDoesNotGoTogetherIsRefusedBeforeAnythingRuns(String words) {
        BenchRun run = BenchRun.of(("bench " + words).split(" "));
        assertEquals(2, run.exitCode(), run.err());
        assertTrue(run.err().contains("--transport: only") || run.err().contains("--polled "), run.err());
    }
}
