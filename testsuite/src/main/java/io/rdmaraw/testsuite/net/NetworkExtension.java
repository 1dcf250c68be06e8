package io.rdmaraw.testsuite.net;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Passes a {@link TestNetwork} to tests and closes it afterwards; enabled by {@link WithTestNetwork}. A network
 * requested in {@code @BeforeAll} is shared by the class, with separate captures for each test. If namespaces cannot be
 * created, the tests are skipped with the reason. The captures of a failed test are kept in the directory given by the
 * system property {@code rdmaraw.captures}, by default {@code target/captures}.
 */
final class NetworkExtension implements ExecutionCondition, ParameterResolver, BeforeEachCallback,
        AfterEachCallback {
    private static final Namespace STORE = Namespace.create(NetworkExtension.class);
    private static final Optional<String> UNAVAILABLE_REASON =
            NamespaceSupport.unavailableReason(List.of("ethtool", "tcpdump"));

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        return UNAVAILABLE_REASON
                .map(ConditionEvaluationResult::disabled)
                .orElseGet(() -> ConditionEvaluationResult.enabled("network namespaces can be made"));
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == TestNetwork.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        // JUnit closes the network with its context: after the test, or after the class.
        return context.getStore(STORE).getOrComputeIfAbsent(TestNetwork.class, key -> newNetwork(context));
    }

    private static TestNetwork newNetwork(ExtensionContext context) {
        Path directory = Path.of(System.getProperty("rdmaraw.captures", "target/captures"));
        return new TestNetwork(testName(context), directory.toAbsolutePath());
    }

    private static String testName(ExtensionContext context) {
        return context.getTestClass().map(Class::getSimpleName).orElse("test")
                + context.getTestMethod().map(method -> '.' + method.getName()).orElse("");
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        // At this point, only a network of the class can exist.
        TestNetwork shared = context.getStore(STORE).get(TestNetwork.class, TestNetwork.class);
        if (shared != null) {
            shared.beginTest(testName(context));
        }
    }

    @Override
    public void afterEach(ExtensionContext context) {
        TestNetwork network = context.getStore(STORE).get(TestNetwork.class, TestNetwork.class);
        Optional<Throwable> failure = context.getExecutionException();
        if (network == null || failure.isEmpty()) {
            return;
        }
        List<Path> files = network.keepCaptures();
        if (!files.isEmpty()) {
            failure.get().addSuppressed(new CapturedFrames(files));
        }
    }

    /** Reports the capture files of a failed test. */
    private static final class CapturedFrames extends Throwable {
        private static final long serialVersionUID = 1L;

        CapturedFrames(List<Path> files) {
            super("frames captured in " + files, null, false, false);
        }
    }
}
