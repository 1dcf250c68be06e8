package io.rdmaraw.channel;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.rdmaraw.metrics.RdmaRawMeterBinder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/** The alert rules and the dashboard use metrics that the transport exports, and Prometheus accepts them. */
@Timeout(60)
class MonitoringFilesTest {
    private static final Path DIRECTORY = Path.of("../examples/monitoring");
    private static final Pattern METRIC = Pattern.compile("rdmaraw_\\w+");
    private static final Pattern ALERT = Pattern.compile("alert: (\\w+)");
    private static final Pattern TESTED_ALERT = Pattern.compile("alertname: (\\w+)\\s+exp_alerts");
    private static final Pattern EXPRESSION = Pattern.compile("\"expr\": \"(.*)\"");
    private static final Pattern REASONS = Pattern.compile("reason=~?\\\\?\"([^\"\\\\]+)");

    /** The exported metrics by their names in Prometheus, each with its meters. */
    private static Map<String, Set<Meter.Id>> exported() throws InterruptedException {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder()
                .device(new LoopDevice().name).build());
        try (RdmaRawMeterBinder binder = new RdmaRawMeterBinder()) {
            binder.bindTo(registry);
            new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                    .childHandler(new ChannelInboundHandlerAdapter()).bind("127.0.0.1", 0).sync();
            return registry.getMeters().stream().collect(Collectors.groupingBy(MonitoringFilesTest::nameOf,
                    TreeMap::new, Collectors.mapping(Meter::getId, Collectors.toSet())));
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /** Returns the name that Micrometer's registry for Prometheus gives to a meter. */
    private static String nameOf(Meter meter) {
        String name = meter.getId().getName().replaceAll("[.-]", "_");
        return switch (meter) {
            case FunctionCounter counter -> name + "_total";
            case TimeGauge gauge -> name + "_seconds";
            default -> name;
        };
    }

    private static String read(String file) throws IOException {
        return Files.readString(DIRECTORY.resolve(file));
    }

    private static void run(String debianPackage, String... command) throws Exception {
        Process process;
        try {
            process = new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException e) {
            assumeTrue(false, "needs " + command[0] + ": apt-get install " + debianPackage);
            return;
        }
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), output);
    }

    @Test
    void metricsAndReasonsAreExported() throws Exception {
        Map<String, Set<Meter.Id>> exported = exported();
        Set<String> reasons = exported.values().stream().flatMap(Set::stream).map(id -> id.getTag("reason"))
                .filter(reason -> reason != null).collect(Collectors.toSet());
        for (String file : List.of("rules.yaml", "dashboard.json")) {
            String text = read(file);
            Set<String> used = METRIC.matcher(text).results().map(match -> match.group())
                    .collect(Collectors.toCollection(TreeSet::new));
            assertTrue(used.size() > 10, file + " uses " + used);
            used.removeAll(exported.keySet());
            assertEquals(Set.of(), used, file + ": not exported");
            REASONS.matcher(text).results().flatMap(match -> List.of(match.group(1).split("\\|")).stream())
                    .forEach(reason -> assertTrue(reasons.contains(reason), file + ": " + reason));
        }
    }

    @Test
    void eachAlertHasATestInWhichItFires() throws IOException {
        assertEquals(matches(ALERT, read("rules.yaml")), matches(TESTED_ALERT, read("rules-test.yaml")));
    }

    private static Set<String> matches(Pattern pattern, String text) {
        return pattern.matcher(text).results().map(match -> match.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    @Test
    void alertsFireForTheirFaultsOnly() throws Exception {
        run("prometheus", "promtool", "check", "rules", DIRECTORY.resolve("rules.yaml").toString());
        run("prometheus", "promtool", "test", "rules", DIRECTORY.resolve("rules-test.yaml").toString());
    }

    @Test
    void namesFollowTheConventionsOfPrometheus(@TempDir Path directory) throws Exception {
        StringBuilder scrape = new StringBuilder();
        exported().forEach((name, ids) -> {
            scrape.append("# HELP ").append(name).append(' ').append(ids.iterator().next().getDescription())
                    .append("\n# TYPE ").append(name).append(name.endsWith("_total") ? " counter\n" : " gauge\n");
            ids.forEach(id -> scrape.append(name).append(id.getTags().stream()
                    .map(tag -> tag.getKey() + "=\"" + tag.getValue() + '"').collect(Collectors.joining(",", "{", "}")))
                    .append(" 1\n"));
        });
        Path file = Files.writeString(directory.resolve("metrics"), scrape);
        run("prometheus", "sh", "-c", "promtool check metrics < " + file);
    }

    @Test
    void expressionsOfTheDashboardAreValid(@TempDir Path directory) throws Exception {
        run("python3", "python3", "-m", "json.tool", DIRECTORY.resolve("dashboard.json").toString());
        StringBuilder rules = new StringBuilder("groups:\n  - name: panels\n    rules:\n");
        List<String> expressions = EXPRESSION.matcher(read("dashboard.json")).results().map(match -> match.group(1))
                .toList();
        assertTrue(expressions.size() > 10, expressions.size() + " expressions");
        for (int i = 0; i < expressions.size(); i++) {
            rules.append("      - {record: panel:").append(i).append(", expr: \"")
                    .append(expressions.get(i).replace("$__rate_interval", "1m")).append("\"}\n");
        }
        Path file = Files.writeString(directory.resolve("panels.yaml"), rules);
        run("prometheus", "promtool", "check", "rules", file.toString());
    }
}
