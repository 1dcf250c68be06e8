// SPDX-License-Identifier: Apache-2.0
package io.rdmaraw.judge;

import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.ClassNameFilter;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Runs the test classes of a directory and writes a row for each method: run, test, outcome and reason. */
public final class JudgeRunner implements TestExecutionListener {
    private enum Outcome { PASSED, SKIPPED, FAILED }

    private record Result(Outcome outcome, String reason) {
    }

    private final String run;
    private final Path rows;
    private final Map<String, Result> results = new TreeMap<>();
    private TestPlan plan;
    private volatile String running;

    private JudgeRunner(String run, Path rows) {
        this.run = run;
        this.rows = rows;
    }

    /** Arguments: the name of the run, the directory of classes, the file of rows, a pattern of class names. */
    public static void main(String[] args) {
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                .selectors(DiscoverySelectors.selectClasspathRoots(Set.of(Path.of(args[1]))))
                .filters(ClassNameFilter.includeClassNamePatterns(args[3]))
                // Tests share loops that their handlers block.
                .configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
                .configurationParameter("junit.jupiter.execution.timeout.testable.method.default", "60 s")
                .configurationParameter("junit.jupiter.execution.timeout.thread.mode.default", "SEPARATE_THREAD")
                .build();
        JudgeRunner runner = new JudgeRunner(args[0], Path.of(args[2]));
        // A run that takes too long is terminated, and its results until then count.
        Runtime.getRuntime().addShutdownHook(new Thread(runner::write));
        LauncherFactory.create().execute(request, runner);
        // Loops that tests leave behind have threads that are no daemons.
        System.exit(0);
    }

    @Override
    public void testPlanExecutionStarted(TestPlan started) {
        plan = started;
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        if (test.isTest()) {
            running = name(test);
            System.out.println("judge: " + running);
        }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        add(test, Outcome.SKIPPED, reason);
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        running = test.isTest() ? null : running;
        String reason = result.getThrowable().map(JudgeRunner::describe).orElse("");
        result.getThrowable().ifPresent(cause -> cause.printStackTrace(System.out));
        switch (result.getStatus()) {
            case SUCCESSFUL -> {
                if (test.isTest()) {
                    add(test, Outcome.PASSED, "");
                }
            }
            case ABORTED -> add(test, Outcome.SKIPPED, reason);
            case FAILED -> {
                add(test, Outcome.FAILED, reason);
                JudgeLoops.renew();
            }
        }
    }

    /** A class that fails or is skipped as a whole gives the result of each of its methods. */
    private synchronized void add(TestIdentifier test, Outcome outcome, String reason) {
        List<TestIdentifier> methods = plan.getDescendants(test).stream().filter(each -> name(each) != null).toList();
        String name = name(test);
        if (name == null) {
            methods.forEach(method -> add(method, outcome, reason));
        } else {
            Result result = new Result(outcome, reason);
            results.merge(name, result, (a, b) -> a.outcome().compareTo(b.outcome()) >= 0 ? a : b);
        }
    }

    /** The class is that of the plan: methods are inherited. */
    private String name(TestIdentifier test) {
        if (!(test.getSource().orElse(null) instanceof MethodSource method)) {
            return null;
        }
        TestIdentifier parent = test;
        while (!(parent.getSource().orElse(null) instanceof ClassSource)) {
            parent = plan.getParent(parent).orElseThrow();
        }
        String type = ((ClassSource) parent.getSource().orElseThrow()).getClassName();
        return type.substring(type.lastIndexOf('.') + 1).replace('$', '.') + '.' + method.getMethodName();
    }

    private static String describe(Throwable cause) {
        return (cause.getClass().getSimpleName() + ": " + cause.getMessage()).lines().findFirst().orElse("")
                .replace('\t', ' ');
    }

    private synchronized void write() {
        if (running != null) {
            results.put(running, new Result(Outcome.FAILED, "the test did not end"));
        }
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(rows, StandardOpenOption.CREATE,
                StandardOpenOption.APPEND))) {
            results.forEach((test, result) -> out.println(String.join("\t", run, test,
                    result.outcome().name().toLowerCase(), result.reason())));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
