package io.rdmaraw.microbench.server;

import io.rdmaraw.microbench.result.BenchOptions;
import java.util.List;
import java.util.stream.Stream;
import picocli.CommandLine.Option;

/** The options for the loads of the paced client. */
final class PacedOptions {
    private static final List<Integer> LOADS = List.of(10, 50, 90);
    private static final int MAX_PERCENT = 1_000;

    @Option(names = "--load", paramLabel = "PERCENT", split = ",",
            description = "the loads of the cases paced, in percent of --rate; default 10,50,90, and less with --quick")
    private List<Integer> loads;

    @Option(names = "--rate", paramLabel = "R", defaultValue = "0",
            description = "requests per second that are a load of 100 percent; 0: the maximum of the slowest transport")
    private double rate;

    /** Returns a new load, which the generators of one case must share. */
    EqualLoad newLoad() {
        return new EqualLoad(rate);
    }

    /**
     * Returns one generator for each load that the user selected.
     *
     * @param whenQuick default loads of a quick bench
     * @param load      load that another generator informs about the maximum rate
     */
    List<LoadGenerator> shares(BenchOptions common, List<Integer> whenQuick, RequestKind kind, int connections,
            EqualLoad load) {
        List<Integer> wanted = loads != null ? loads : common.quick() ? whenQuick : LOADS;
        common.require(wanted.stream().allMatch(each -> each >= 1 && each <= MAX_PERCENT),
                "--load must be 1 to " + MAX_PERCENT);
        common.require(rate == 0 || rate >= 1 && rate <= 1e7, "--rate must be 1 to 10000000, or 0");
        return wanted.stream().<LoadGenerator>map(percent -> PacedLoad.at(percent, kind, connections, load)).toList();
    }

    /**
     * Returns a generator that determines the maximum rate, followed by one generator for each load. Returns an empty
     * list for a quick bench unless the user selected loads.
     */
    List<LoadGenerator> all(BenchOptions common, RequestKind kind, int connections) {
        EqualLoad load = newLoad();
        List<LoadGenerator> shares = shares(common, List.of(), kind, connections, load);
        return shares.isEmpty() ? List.of()
                : Stream.concat(Stream.of(PacedLoad.atFullSpeed(kind, connections, load)), shares.stream()).toList();
    }
}
