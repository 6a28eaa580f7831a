package coreml

import "fmt"

// Type is the kind of a model: the number of its member in the alternative Type of message Model.
type Type int

// The model types that this package takes apart. Every other one is recognised by name.
const (
	PipelineClassifier Type = 200
	PipelineRegressor  Type = 201
	Pipeline           Type = 202
	MLProgram          Type = 502

	NeuralNetwork           Type = 500
	NeuralNetworkClassifier Type = 403
	NeuralNetworkRegressor  Type = 303
)

// typeNames has the members of the alternative Type in Model.proto of coremltools 9.
var typeNames = map[Type]string{
	PipelineClassifier: "pipelineClassifier",
	PipelineRegressor:  "pipelineRegressor",
	Pipeline:           "pipeline",

	300:                    "glmRegressor",
	301:                    "supportVectorRegressor",
	302:                    "treeEnsembleRegressor",
	NeuralNetworkRegressor: "neuralNetworkRegressor",
	304:                    "bayesianProbitRegressor",

	400:                     "glmClassifier",
	401:                     "supportVectorClassifier",
	402:                     "treeEnsembleClassifier",
	NeuralNetworkClassifier: "neuralNetworkClassifier",
	404:                     "kNearestNeighborsClassifier",

	NeuralNetwork: "neuralNetwork",
	501:           "itemSimilarityRecommender",
	MLProgram:     "mlProgram",

	555: "customModel",
	556: "linkedModel",
	560: "classConfidenceThresholding",

	600: "oneHotEncoder",
	601: "imputer",
	602: "featureVectorizer",
	603: "dictVectorizer",
	604: "scaler",
	606: "categoricalMapping",
	607: "normalizer",
	609: "arrayFeatureExtractor",
	610: "nonMaximumSuppression",

	900: "identity",

	2000: "textClassifier",
	2001: "wordTagger",
	2002: "visionFeaturePrint",
	2003: "soundAnalysisPreprocessing",
	2004: "gazetteer",
	2005: "wordEmbedding",
	2006: "audioFeaturePrint",

	3000: "serializedModel",
}

// String returns the name of the type as the specification spells it.
func (t Type) String() string {
	if name, ok := typeNames[t]; ok {
		return name
	}
	return fmt.Sprintf("model type %d", int(t))
}

// IsPipeline reports whether models of the type are made of stages.
func (t Type) IsPipeline() bool {
	return t == Pipeline || t == PipelineClassifier || t == PipelineRegressor
}

// typeNamed finds a type by its name.
func typeNamed(name string) (Type, bool) {
	for t, n := range typeNames {
		if n == name {
			return t, true
		}
	}
	return 0, false
}
