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

/** What the commands of this module say; see {@link GoldenOutput}. */
class GoldenOutputTest {
    private static final String FIXED = "target/golden";

    /** Beside the help: runs that work, then runs that do not. */
    private static final List<String> RUNS = List.of(
            "bench idle --quick --runs 1",
            "bench http --tls nothing",
            "bench nothing",
            "report --from ../docs/report/report.json --out " + FIXED,
            "report --only nothing",
            "report --from nothing.json",
            "profile rx -D 0.5 --warm-up 0.5 --profiler jfr --out " + FIXED + "-profile.html",
            "profile",
            "profile --pid 999999999",
            "profile rx --wire",
            "man man",
            "man nothing",
            "nothing");

    private static final String LONG = "takes from half a minute to some; ./rdma-raw report runs it";
    private static final Map<String, String> NO_PLAIN_RUN = Map.of("bench frames, plain", LONG,
            "bench wire, plain", LONG, "bench udp, plain", LONG, "bench tcp, plain", LONG,
            "bench tcp-core, plain", LONG, "bench dns, plain", LONG, "bench http, plain", LONG,
            "bench redis, plain", LONG, "bench websocket, plain", LONG, "bench frameworks, plain", LONG);

    static Stream<String> runs() {
        return Stream.of(commands().map(command -> command + " --help"), commands()
                .filter(command -> command.startsWith("bench ")).map(bench -> bench + " --runs 0"), RUNS.stream())
                .flatMap(each -> each);
    }

    /** Every command there is, with its subcommands: a new one comes in by itself. */
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
    void aCommandSaysWhatItSaid(String arguments) {
        BenchRun run = BenchRun.of(arguments.split(" "));
        // Which methods a profile finds is another matter in each run.
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
