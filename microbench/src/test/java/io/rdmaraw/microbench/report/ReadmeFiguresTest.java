package io.rdmaraw.microbench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.microbench.BenchRun;
import io.rdmaraw.tools.command.ToolException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The figures of docs/lab/figures.md are those of the report. */
class ReadmeFiguresTest {
    private static final Path PROJECT = Path.of("..");
    private static final Path PAGE = PROJECT.resolve("docs/lab/figures.md");
    private static final String COMMAND = "run: ./rdma-raw report --from docs/lab/report.json --out docs/lab"
            + " --readme docs/lab/figures.md";

    /** If the name of a case is misspelt or has changed, the page omits its row without an error. */
    @Test
    void everyKeyFigureIsInTheProjectsOwnReport() throws Exception {
        Report report = Report.read(PROJECT.resolve("docs/lab/report.json"));
        Set<String> wanted = new TreeSet<>(KeyFigures.names());
        KeyFigures.of(report).forEach(figure -> wanted.remove(figure.what()));
        assertEquals(Set.of(), wanted);
    }
    private static final String FILE = "before\n<!-- figures: made by ./rdma-raw report, do not edit -->\nold\n"
            + "<!-- end of figures -->\nafter\n";

    @Test
    void pageShowsTheFiguresOfTheReport() throws Exception {
        Report report = Report.read(PROJECT.resolve("docs/lab/report.json"));
        String page = Files.readString(PAGE);
        assertEquals(ReadmeFigures.replaceIn(page, report), page, COMMAND);
    }

    @Test
    void thePicturesAreMadeOfTheProjectsReport() throws Exception {
        Report report = Report.read(PROJECT.resolve("docs/lab/report.json"));
        String page = Files.readString(PAGE);
        Map<String, String> pictures = ReadmeCharts.of(report);
        assertEquals(4, pictures.size(), "two, for light and for dark pages");
        for (Map.Entry<String, String> picture : pictures.entrySet()) {
            assertEquals(picture.getValue(), Files.readString(PROJECT.resolve("docs/lab").resolve(picture.getKey())),
                    COMMAND);
            assertTrue(page.contains("\"" + picture.getKey() + '"'), picture.getKey());
        }
    }

    /** Each row of the table in the README has the same figures as a row of the page. */
    @Test
    void theReadmesFiguresAreOnThePage() throws Exception {
        List<String> page = Files.readAllLines(PAGE);
        Pattern row = Pattern.compile("\\| [^|]+ \\| ([\\d.,]+)[ us]* \\| ([\\d.,]+)[ us]* \\|"
                + " (\\*\\*[\\d.]+\\*\\*) \\(([^)]+)\\) \\|");
        int rows = 0;
        for (String line : Files.readAllLines(PROJECT.resolve("README.md"))) {
            Matcher figures = row.matcher(line);
            if (figures.matches()) {
                rows++;
                assertTrue(page.stream().anyMatch(each -> each.contains("| " + figures.group(1) + ' ')
                        && each.contains('(' + figures.group(2) + ')') && each.contains(figures.group(3))
                        && each.contains("| " + figures.group(4) + " |")), line);
            }
        }
        assertTrue(rows >= 3 && rows <= 6, rows + " rows");
    }

    @Test
    void aPictureShowsTheMediansOfBoth() throws Exception {
        String row = """
                {"case": "dns.perServerCpu", "transport": "%s", "device": "d", "unit": "answers/CPU s", "min": 1,
                 "median": %d, "max": 900000, "runs": 3}""";
        Report both = PageTest.report(PageTest.run("dns", "{\"rows\":[" + row.formatted("rdma-raw", 151_976)
                + ',' + row.formatted("epoll", 97_289) + "]}"));
        Map<String, String> pictures = ReadmeCharts.of(both);
        assertEquals(Set.of("answers-light.svg", "answers-dark.svg"), pictures.keySet(), "what was measured");
        for (String picture : pictures.values()) {
            assertTrue(picture.contains(">151,976<") && picture.contains(">97,289<"), picture);
            Matcher bars = Pattern.compile("<rect class=\"c\\d\" x=\"118.0\" y=\"\\d+\" width=\"([\\d.]+)\"")
                    .matcher(picture);
            assertTrue(bars.find());
            double ours = Double.parseDouble(bars.group(1));
            assertTrue(bars.find());
            assertEquals(151_976 / 97_289.0, ours / Double.parseDouble(bars.group(1)), 0.01, "lengths as the figures");
        }
        assertEquals(Map.of(), ReadmeCharts.of(PageTest.report(PageTest.run("dns", "{\"rows\":["
                + row.formatted("rdma-raw", 1) + "]}"))), "there is nothing to compare with");
    }

    @Test
    void theProjectsPageIsMadeOfItsReport() throws Exception {
        Report report = Report.read(PROJECT.resolve("docs/lab/report.json"));
        String page = Files.readString(PROJECT.resolve("docs/lab/report.html"));
        Matcher style = Pattern.compile("<style>(.*?)</style>", Pattern.DOTALL).matcher(page);
        assertTrue(style.find());
        assertEquals(new Page(report).render(style.group(1)), page);
    }

    @Test
    void figuresStandBetweenTheComments() throws Exception {
        Report report = PageTest.report(PageTest.run("frames", PageTest.ROWS), MeasurementResult.failed(
                PageTest.measurement("wire"), 3, "no root"));
        String text = ReadmeFigures.replaceIn(FILE, report);
        assertTrue(text.startsWith("before\n<!-- figures") && text.endsWith("<!-- end of figures -->\nafter\n"), text);
        assertTrue(text.contains("| 60 ns/frame | C, same device (72) | **1.20** | 1.10 to 1.30 |"), text);
        assertTrue(text.contains("Measured 2026-01-01 by `./rdma-raw report` on a CPU (2 cores)"), text);
        assertTrue(text.contains("Not measured there: wire"), text);
        assertTrue(text.contains("work of 2000 us was held up for 500 us at most before, for 1,000 us after"), text);
        assertTrue(text.contains("took 0.7 % of the processor time"), text);
        assertEquals(text, ReadmeFigures.replaceIn(text, report), "again");
        for (String without : List.of("", FILE.replace("figures: made", "other"), FILE.replace("end of", "no"))) {
            assertThrows(ToolException.class, () -> ReadmeFigures.replaceIn(without, report));
        }
    }

    @Test
    void aPageAndAReadmeAreMadeOfAnEarlierReport(@TempDir Path directory) throws Exception {
        Report report = PageTest.report(PageTest.run("frames", PageTest.ROWS), MeasurementResult.failed(
                PageTest.measurement("wire"), 3, "no root"));
        Path data = directory.resolve("earlier.json");
        report.write(data);
        Path readme = Files.writeString(directory.resolve("R.md"), FILE);
        BenchRun run = BenchRun.of("report", "--from", data.toString(), "--out", directory.resolve("new").toString(),
                "--readme", readme.toString());
        assertEquals(0, run.exitCode(), run.err());
        assertEquals(ReadmeFigures.replaceIn(FILE, report), Files.readString(readme));
        assertEquals(Files.readString(data), Files.readString(directory.resolve("new/report.json")));
        assertTrue(Files.readString(directory.resolve("new/report.html")).contains("Not measured: no root"));
    }

    @Test
    void aFileWithoutAPlaceIsRefused(@TempDir Path directory) throws Exception {
        Path data = directory.resolve("report.json");
        PageTest.report(PageTest.run("frames", PageTest.ROWS)).write(data);
        Path readme = Files.writeString(directory.resolve("R.md"), "nothing");
        BenchRun run = BenchRun.of("report", "--from", data.toString(), "--out", directory.toString(), "--readme",
                readme.toString());
        assertEquals(1, run.exitCode());
        assertTrue(run.err().contains("no place for figures"), run.err());
        assertEquals("nothing", Files.readString(readme));
    }
}
