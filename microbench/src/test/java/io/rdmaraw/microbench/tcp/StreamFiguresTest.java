package io.rdmaraw.microbench.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.examples.server.Tuning;
import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.result.BenchRow.Unit;
import io.rdmaraw.microbench.rival.TunedTransport;
import io.rdmaraw.microbench.tcp.StreamCase.Figure;
import io.rdmaraw.testsuite.net.Offloads;
import io.rdmaraw.tools.command.ToolException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class StreamFiguresTest {
    private static final TunedTransport OURS = TunedTransport.stock(Transport.RDMA_RAW);
    private static final TunedTransport EPOLL = TunedTransport.stock(Transport.EPOLL);

    private final StringWriter progress = new StringWriter();
    private final StreamOptions options = new StreamOptions(List.of(OURS, EPOLL), 2, false, 0, 0,
            "", Offloads.AS_MADE, false, FloodKind.SYN, Pattern.compile("conns64$"));
    private final StreamFigures figures = new StreamFigures("tcp.loop.", TunedTransport::toString, options,
            new PrintWriter(progress));

    private static Map<String, Figure> rate(double value) {
        return Map.of("", new Figure(Unit.ROUND_TRIPS_PER_SECOND, value));
    }

    private JsonNode report() {
        BenchReport report = new BenchReport("tcp");
        figures.addTo(report);
        return report.toJson();
    }

    @Test
    void failedCaseIsNamedOnceAndTheOthersAreKept() throws InterruptedException {
        AtomicInteger starts = new AtomicInteger();
        StreamEnds broken = new StreamEnds(() -> {
            starts.incrementAndGet();
            throw new ToolException("it does not start");
        });
        StreamCase failing = new StreamCase.RequestResponse(64, StreamCase.Cores.SHARED);
        figures.add("rr.conns1", OURS, 1, rate(30));
        figures.add("rr.conns1", EPOLL, 1, rate(10));
        figures.measure(failing, OURS, 0, broken, 0);
        figures.measure(failing, OURS, 1, broken, 0);
        figures.add("rr.conns64", EPOLL, 1, rate(20));
        JsonNode report = report();
        assertEquals(1, starts.get());
        assertEquals(1, report.required("notMeasured").size());
        assertEquals("tcp.loop.rr.conns64 on rdma-raw",
                report.required("notMeasured").get(0).required("what").asText());
        assertEquals("it does not start", report.required("notMeasured").get(0).required("reason").asText());
        assertEquals(List.of("tcp.loop.rr.conns1", "tcp.loop.rr.conns1", "tcp.loop.rr.conns64"),
                report.required("rows").findValuesAsText("case"));
        assertEquals(3, report.required("rows").get(1).required("ratioMedian").asDouble());
    }

    @Test
    void comparesFiguresOfTheSameRun() {
        figures.add("rr.conns1", OURS, 1, rate(30));
        figures.add("rr.conns1", OURS, 2, rate(80));
        figures.add("rr.conns1", EPOLL, 2, rate(20));
        JsonNode ours = report().required("rows").get(1);
        assertEquals(4, ours.required("ratioMin").asDouble());
        assertEquals(4, ours.required("ratioMax").asDouble());
        assertFalse(report().has("notMeasured"));
    }

    @Test
    void bothFormsOfARivalHaveRows() {
        TunedTransport tuned = new TunedTransport(Transport.EPOLL, EnumSet.of(Tuning.POOLED));
        figures.add("rr.conns1", OURS, 1, rate(30));
        figures.add("rr.conns1", EPOLL, 1, rate(10));
        figures.add("rr.conns1", tuned, 1, rate(15));
        assertEquals(List.of("epoll", "rdma-raw", "epoll-tuned", "rdma-raw"),
                report().required("rows").findValuesAsText("transport"));
        assertEquals(List.of("epoll", "epoll-tuned"), report().required("rows").findValuesAsText("ratioTo"));
    }

    @Test
    void onlySelectedCasesAreMeasured() {
        List<StreamCase> cases = List.of(new StreamCase.RequestResponse(64, StreamCase.Cores.SHARED),
                new StreamCase.RequestResponse(640, StreamCase.Cores.SHARED));
        assertEquals(cases.subList(0, 1), options.wanted("tcp.loop.", cases));
    }

    /** A short bench runs the slowest case only on the two most important transports. */
    @Test
    void aShortBenchHasTheFloodOnTwoTransports() {
        StreamCase flood = new StreamCase.Flood(64, 1_000, FloodKind.SYN);
        List<TunedTransport> all = Arrays.stream(Transport.values()).map(TunedTransport::stock).toList();
        StreamOptions brief = new StreamOptions(all, 3, true, 0, 0, "", Offloads.AS_MADE, false, FloodKind.SYN,
                Pattern.compile(""));
        assertEquals(Set.of(OURS, EPOLL),
                all.stream().filter(each -> brief.isWantedOn(flood, each)).collect(Collectors.toSet()));
        assertTrue(all.stream().allMatch(each -> options.isWantedOn(flood, each)));
        assertTrue(all.stream().allMatch(each -> brief.isWantedOn(new StreamCase.Bulk(true), each)));
    }
}
