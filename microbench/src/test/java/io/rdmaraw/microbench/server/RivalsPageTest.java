package io.rdmaraw.microbench.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.result.BenchRow;
import io.rdmaraw.microbench.result.BenchRow.Unit;
import io.rdmaraw.tools.command.ToolException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class RivalsPageTest {
    private static final String PAGE = """
            before
            <!-- sweep: made by ./rdma-raw bench rivals, do not edit -->
            an older sweep
            <!-- end of sweep -->
            after
            """;

    private static JsonNode report(List<Double> stock) {
        BenchReport report = new BenchReport("rivals");
        report.add(BenchRow.of("dns.rate", "epoll", "veth", Unit.ANSWERS_PER_SECOND, stock));
        report.add(BenchRow.compared("dns.rate", "epoll+read-64", "veth", Unit.ANSWERS_PER_SECOND,
                List.of(90_000.0, 99_000.0, 120_000.0), "epoll", stock));
        report.add(BenchRow.compared("dns.perServerCpu", "epoll+read-64", "veth", Unit.ANSWERS_PER_CPU_SECOND,
                List.of(200_000.0, 220_000.0, 180_000.0), "epoll", List.of(100_000.0, 110_000.0, 120_000.0)));
        report.addNotMeasured("dns, epoll+pooled", "no server\nand a trace");
        return report.toJson();
    }

    private static String row(List<Double> stock) {
        return RivalsPage.replaceIn(PAGE, report(stock), 3, true).lines().filter(line -> line.startsWith("| dns"))
                .findFirst().orElseThrow();
    }

    @Test
    void rowHasTheRatiosOfThePairsAndTheirSpread() {
        assertEquals("| dns | epoll read-64 | 99,000 | 1.10 | 0.90..1.20 | 2.00 | 1.50..2.00 | unclear |",
                row(List.of(100_000.0, 90_000.0, 100_000.0)));
    }

    @Test
    void effectIsClearIfAllPairsAgree() {
        assertTrue(row(List.of(80_000.0, 80_000.0, 80_000.0)).endsWith("| gain |"));
        assertTrue(row(List.of(130_000.0, 130_000.0, 130_000.0)).endsWith("| loss |"));
    }

    @Test
    void restOfThePageStays() {
        String page = RivalsPage.replaceIn(PAGE, report(List.of(1.0, 1.0, 1.0)), 3, true);
        assertTrue(page.startsWith("before\n<!-- sweep") && page.endsWith("<!-- end of sweep -->\nafter\n"), page);
        assertTrue(page.contains("`./rdma-raw bench rivals --quick`, 3 pairs each") && !page.contains("older"), page);
        assertTrue(page.contains("\nNot measured: dns, epoll+pooled: no server\n"), page);
        assertThrows(ToolException.class, () -> RivalsPage.requireSection("a page"));
    }

    @Test
    void documentedPageHasThePlace() throws IOException {
        RivalsPage.requireSection(Files.readString(Path.of("../docs/lab/rivals.md")));
    }
}
