package io.rdmaraw.microbench;

import io.rdmaraw.testsuite.golden.GoldenOutput;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Compares the output of all commands of this module with recorded files; see {@link GoldenOutput}. */
class GoldenOutputTest {
    private static final String FIXED = "target/golden";

    /** Runs in addition to the help: first those that succeed, then those that fail. */
    private static final List<String> RUNS = List.of(
            "bench idle --quick --runs 1",
            "bench http --tls nothing",
            "bench nothing",
            "report --from ../docs/lab/report.json --out " + FIXED,
            "report --only nothing",
            "report --from nothing.json",
            "profile rx -D 0.5 --warm-up 0.5 --profiler jfr --out " + FIXED + "-profile.html",
            "profile",
            "profile --pid 999999999",
            "profile rx --wire",
            "man man",
            "man nothing",
            "nothing");

    private static final String LONG = "takes half a minute or more";
    private static final Map<String, String> NO_PLAIN_RUN = Stream.of("frames", "wire", "udp", "tcp", "tcp-core", "dns",
            "http", "redis", "websocket", "frameworks", "rivals")
            .collect(Collectors.toMap(bench -> "bench " + bench + ", plain", _ -> LONG));

    static Stream<String> runs() {
        return Stream.of(commands().map(command -> command + " --help"), commands()
                .filter(command -> command.startsWith("bench ")).map(bench -> bench + " --runs 0"), RUNS.stream())
                .flatMap(each -> each);
    }

    /** Returns all commands and subcommands, including new ones. */
    private static Stream<String> commands() {
        Set<String> names = new TreeSet<>();
        Main.commandLine().getSubcommands().forEach((name, command) -> {
            names.add(name);
            command.getSubcommands().forEach((sub, bench) -> {
                if (!bench.getCommandSpec().usageMessage().hidden()) {
                    names.add(name + ' ' + sub);
                }
            });
        });
        return names.stream();
    }

    @ParameterizedTest
    @MethodSource("runs")
    void outputOfACommandIsUnchanged(String arguments) {
        BenchRun run = BenchRun.of(arguments.split(" "));
        // The methods in a profile differ between runs.
        String out = !arguments.startsWith("profile rx -D") ? run.out() : run.out().lines()
                .filter(line -> !line.matches(".* {2,}[0-9.]+")).collect(Collectors.joining("\n", "", "\n"));
        GoldenOutput.check(arguments, run.exitCode(), out, run.err());
    }

    @Test
    void everyCommandHasAPlainRunAndAWrongOne() {
        GoldenOutput.checkEachCommand(commands().filter(command -> !command.equals("bench")).toList(), runs().toList(),
                NO_PLAIN_RUN);
    }

    @Test
    void everyFileIsOfARun() {
        GoldenOutput.checkNoOther(runs().toList());
    }
}
