package io.rdmaraw.testsuite.script;

import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;

/**
 * Plays the {@link Scripts} against the core and, as root, against the kernel of this host, and prints the
 * results.
 */
public final class ScriptMain {
    private static final String USAGE = "usage: sim scripts [--case TEXT] [--core] [--json]";
    private static final String PASSED = "ok";
    private static final String FAILED = "FAILED";
    private static final String NOT_COMPARED = "-";

    private final PrintStream out;
    private final List<AssertionError> failures = new ArrayList<>();
    private final Map<String, Integer> outcomes = new TreeMap<>();
    /** Requirements that a script verifies, and the subset that Linux meets in the same script. */
    private final Set<String> shown = new TreeSet<>();
    private final Set<String> shownOnLinux = new TreeSet<>();

    private ScriptMain(PrintStream out) {
        this.out = out;
    }

    /** Runs with the given arguments. Returns 0, 1 if a script failed, or 2 if the arguments are invalid. */
    public static int run(String[] args, PrintStream out) {
        String part = "";
        boolean coreOnly = false;
        boolean json = false;
        for (int i = 0; i < args.length; i++) {
            switch (args[i]) {
                case "--core" -> coreOnly = true;
                case "--json" -> json = true;
                case "--case" -> part = ++i < args.length ? args[i] : null;
                default -> part = null;
            }
            if (part == null) {
                out.println("unknown option or missing value: " + args[Math.min(i, args.length - 1)] + "; " + USAGE);
                return 2;
            }
        }
        if (!coreOnly && !mayUseKernel()) {
            out.println("scripts are played against the kernel as root with /dev/net/tun; --core plays them against"
                    + " the core alone");
            return 2;
        }
        String wanted = part;
        List<Script> scripts = Scripts.all().stream().filter(script -> script.name().contains(wanted)).toList();
        return new ScriptMain(out).playAll(scripts, coreOnly, json);
    }

    /** Returns whether this process may create the namespace and the TUN device for scripts against the kernel. */
    static boolean mayUseKernel() {
        return "root".equals(System.getProperty("user.name")) && Files.isWritable(Path.of("/dev/net/tun"));
    }

    private int playAll(List<Script> scripts, boolean coreOnly, boolean json) {
        out.println("core    Linux   script");
        for (Script script : scripts) {
            String core = outcome("core", play(script, CoreDriver::new));
            boolean compared = !coreOnly && script.coreOnlyReason().isEmpty();
            String kernel = compared ? outcome("linux", play(script, KernelDriver::new)) : NOT_COMPARED;
            out.printf("%-6s  %-6s  %s%s%s%n", core, kernel, script.name(),
                    script.proves().isEmpty() ? "" : " " + script.proves(),
                    script.coreOnlyReason().isEmpty() ? "" : " (" + script.coreOnlyReason() + ")");
            note(script, core, kernel);
        }
        failures.forEach(failure -> out.println(failure.getMessage()));
        report(scripts.size(), json);
        return failures.isEmpty() ? 0 : 1;
    }

    private AssertionError play(Script script, Supplier<ScriptDriver> drivers) {
        try {
            ScriptRunner.play(script, drivers);
            return null;
        } catch (AssertionError e) {
            failures.add(e);
            return e;
        }
    }

    private String outcome(String side, AssertionError failureOrNull) {
        outcomes.merge(side + (failureOrNull == null ? "Passed" : "Failed"), 1, Integer::sum);
        return failureOrNull == null ? PASSED : FAILED;
    }

    private void note(Script script, String core, String kernel) {
        if (core.equals(PASSED)) {
            shown.addAll(script.proves());
        }
        if (kernel.equals(PASSED)) {
            shownOnLinux.addAll(script.proves());
        }
    }

    private int count(String outcome) {
        return outcomes.getOrDefault(outcome, 0);
    }

    private static long musts(Set<String> requirements) {
        return requirements.stream().filter(id -> id.startsWith("MUST")).count();
    }

    private void report(int scripts, boolean json) {
        String release = System.getProperty("os.version");
        out.printf("%d scripts: the core followed %d, Linux %s %d of %d; MUSTs shown by scripts: %d, of them on Linux"
                + " too: %d%n", scripts, count("corePassed"), release, count("linuxPassed"),
                count("linuxPassed") + count("linuxFailed"), musts(shown), musts(shownOnLinux));
        if (json) {
            out.printf("{\"scripts\": %d, \"corePassed\": %d, \"coreFailed\": %d, \"linux\": \"%s\", \"linuxPassed\":"
                    + " %d, \"linuxFailed\": %d, \"musts\": %d, \"mustsOnLinux\": %d}%n", scripts, count("corePassed"),
                    count("coreFailed"), release, count("linuxPassed"), count("linuxFailed"), musts(shown),
                    musts(shownOnLinux));
        }
    }
}
