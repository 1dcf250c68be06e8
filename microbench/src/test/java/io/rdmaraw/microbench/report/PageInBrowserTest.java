package io.rdmaraw.microbench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Renders the page in a browser and checks its layout and its contrast. */
@Timeout(120)
@Tag("browser")
class PageInBrowserTest {
    private static final List<String> BROWSERS = List.of("chromium-headless-shell", "chromium", "chromium-browser",
            "google-chrome");
    private static final Pattern FOUND = Pattern.compile("<pre id=\"found\">(.*?)</pre>", Pattern.DOTALL);
    private static final int DARK = 0;
    private static final int LIGHT = 1;
    /** Runs in the frame that contains the page, and replaces the frame with the faults that it has found. */
    private static final String LOOK = """
            <script>addEventListener('load', () => {
              const faults = [];
              document.querySelectorAll('details').forEach(d => d.open = true);
              const width = document.documentElement.clientWidth;
              if (document.documentElement.scrollWidth > width)
                faults.push('the page is ' + document.documentElement.scrollWidth + ' wide in a window of ' + width);
              const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1
                && a.bottom <= b.bottom + 1;
              const apart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1
                || b.bottom <= a.top + 1;
              const svgs = [...document.querySelectorAll('figure svg')];
              for (const svg of svgs) {
                const title = svg.querySelector('title').textContent;
                const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
                for (const [text, box] of texts)
                  if (!inside(box, svg.getBoundingClientRect())) faults.push(title + ': cut off: ' + text);
                texts.forEach(([text, box], i) => texts.slice(i + 1).forEach(([other, otherBox]) => {
                  if (!apart(box, otherBox)) faults.push(title + ': "' + text + '" lies over "' + other + '"');
                }));
              }
              const key = document.querySelector('table.key');
              if (key) for (const cell of key.querySelectorAll('tr > :nth-child(2)'))
                if (cell.getBoundingClientRect().right > width) faults.push('a ratio is off the screen');
              if (key) for (const row of key.querySelectorAll('tbody tr'))
                if (![...row.querySelectorAll('.n, .less')].some(c => c.offsetWidth && c.textContent))
                  faults.push('no figure: ' + row.cells[0].textContent);
              for (const picture of document.querySelectorAll('svg.r'))
                if (picture.getBoundingClientRect().right > width)
                  faults.push('a spread is off the screen: ' + picture.closest('tr').textContent);
              const light = colour => { const [r, g, b] = colour.match(/\\d+/g).map(v => (v / 255) ** 2.2);
                return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
              const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
              const back = getComputedStyle(document.body).backgroundColor;
              for (const element of document.querySelectorAll('h1, p, td, th, dt, a, code, summary'))
                if (element.textContent && contrast(getComputedStyle(element).color, back) < 4.5)
                  faults.push('pale: ' + element.textContent);
              const found = document.createElement('pre');
              found.id = 'found';
              found.textContent = JSON.stringify({ faults, pictures: svgs.length, background: back });
              top.document.body.replaceChildren(found);
            })</script>""";

    private static String browser;

    @TempDir
    private Path directory;

    @BeforeAll
    static void findBrowser() {
        Optional<String> found = BROWSERS.stream().filter(PageInBrowserTest::isInPath).findFirst();
        assumeTrue(found.isPresent(), "no Chromium to look at the report with: apt-get install"
                + " chromium-headless-shell");
        browser = found.get();
    }

    private static boolean isInPath(String program) {
        return Stream.of(System.getenv().getOrDefault("PATH", "").split(":"))
                .anyMatch(at -> Files.isExecutable(Path.of(at, program)));
    }

    private static String style() throws IOException {
        try (InputStream in = ReportCommand.class.getResourceAsStream("report.css")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private JsonNode look(String page, int width, int scheme) throws Exception {
        // The page is in a frame because a browser window cannot be as narrow as a phone.
        Path file = Files.writeString(directory.resolve("page.html"), "<body><iframe style='border: 0' height=900"
                + " width=" + width + " srcdoc=\"" + page.replace("</body>", LOOK + "</body>").replace("&", "&amp;")
                        .replace("\"", "&quot;") + "\"></iframe></body>");
        Path out = directory.resolve("dom.html");
        List<String> command = new ArrayList<>(List.of(browser, "--no-sandbox", "--disable-gpu", "--headless",
                "--window-size=" + (width + 40) + ",940", "--blink-settings=preferredColorScheme=" + scheme,
                "--user-data-dir=" + directory.resolve("profile"), "--virtual-time-budget=10000", "--dump-dom",
                file.toUri().toString()));
        Process process = new ProcessBuilder(command).redirectOutput(out.toFile())
                .redirectError(ProcessBuilder.Redirect.DISCARD).start();
        assertTrue(process.waitFor(100, TimeUnit.SECONDS), "the browser has not ended");
        Matcher matcher = FOUND.matcher(Files.readString(out));
        assertTrue(matcher.find(), Files.readString(out));
        return new ObjectMapper().readTree(matcher.group(1).replace("&quot;", "\"").replace("&lt;", "<")
                .replace("&gt;", ">").replace("&amp;", "&"));
    }

    @ParameterizedTest
    @CsvSource({"1280," + LIGHT + ",255", "1280," + DARK + ",20", "390," + LIGHT + ",255", "390," + DARK + ",20"})
    void theProjectsPageIsReadable(int width, int scheme, int red) throws Exception {
        Report report = Report.read(Path.of("../docs/lab/report.json"));
        JsonNode found = look(new Page(report).render(style()), width, scheme);
        assertEquals("[]", found.get("faults").toString());
        assertTrue(found.get("pictures").asInt() >= 10, found.toString());
        assertTrue(found.get("background").asText().startsWith("rgb(" + red + ','), found.toString());
    }

    @Test
    void faultsOfThePageAreFound() throws Exception {
        String wide = "<div style='width:3000px'>wide</div><p style='color:#eee'>pale text</p>";
        String svg = "<figure><svg viewBox='0 0 100 100' width='100'><title>t</title><text x='80' y='50'>cut off here"
                + "</text><text x='80' y='50'>over it</text></svg></figure>";
        String page = "<html><head><style>" + style() + "</style></head><body>" + wide + svg + "</body></html>";
        String faults = look(page, 800, LIGHT).get("faults").toString();
        for (String fault : List.of("wide in a window", "cut off", "lies over", "pale: pale text")) {
            assertTrue(faults.contains(fault), fault + " in " + faults);
        }
    }
}
